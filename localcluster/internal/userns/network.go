package userns

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// LoopbackUp gives a new network namespace its loopback addresses, which it begins without.
func LoopbackUp() error {
	fail := func(err error) error { return fmt.Errorf("bring up the loopback device: %w", err) }
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	defer unix.Close(s)
	device, err := unix.NewIfreq("lo")
	if err != nil {
		return fail(err)
	}
	if err := unix.IoctlIfreq(s, unix.SIOCGIFFLAGS, device); err != nil {
		return fail(err)
	}
	device.SetUint16(device.Uint16() | unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, device); err != nil {
		return fail(err)
	}
	return nil
}

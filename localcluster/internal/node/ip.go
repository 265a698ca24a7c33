package node

import (
	"fmt"
	"net/netip"
	"sync"
)

// addresses hands out pod IPs of one loopback network. An address that was given back is handed out again only after all others, so
// that a connection to an ended pod does not reach its successor.
type addresses struct {
	mu   sync.Mutex
	net  netip.Prefix
	last netip.Addr
	used map[netip.Addr]bool
}

// newAddresses takes a network within 127.0.0.0/8. Its first two addresses stay free: the second is the cluster's own.
func newAddresses(cidr string) (*addresses, error) {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil, fmt.Errorf("pod network %q: %w", cidr, err)
	}
	if !p.Addr().IsLoopback() || !p.Addr().Is4() || p.Bits() < 8 || p.Bits() > 29 {
		return nil, fmt.Errorf("pod network %q: give a part of 127.0.0.0/8 with a prefix from /8 to /29", cidr)
	}
	p = p.Masked()
	return &addresses{net: p, last: p.Addr().Next(), used: map[netip.Addr]bool{}}, nil
}

// take returns a free address.
func (a *addresses) take() (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next := a.last
	for range 1 << (32 - a.net.Bits()) {
		next = next.Next()
		if !a.net.Contains(next) || !a.net.Contains(next.Next()) { // the last one is left out, too
			next = a.net.Addr().Next().Next()
		}
		if !a.used[next] {
			a.last, a.used[next] = next, true
			return next.String(), nil
		}
	}
	return "", fmt.Errorf("pod network %s: every address is taken", a.net)
}

// reserve marks an address that a pod has from before.
func (a *addresses) reserve(ip string) bool {
	addr, err := netip.ParseAddr(ip)
	if err != nil || !a.net.Contains(addr) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used[addr] {
		return false
	}
	a.used[addr] = true
	if a.last.Less(addr) {
		a.last = addr
	}
	return true
}

func (a *addresses) release(ip string) {
	if addr, err := netip.ParseAddr(ip); err == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.used, addr)
	}
}

package feature

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/conf"
)

// port is one of the driver's ports, on its container and on its Service.
type port struct {
	name      string
	key       string
	container int
	service   int
}

// driverPorts returns the driver's ports in order.
func driverPorts(b *build) ([]port, error) {
	rpc, err := rawInt(b.conf, conf.DriverPort)
	if err != nil {
		return nil, err
	}
	block, err := rawInt(b.conf, conf.DriverBlockManagerPort)
	if err != nil {
		return nil, err
	}
	// Only the container's port follows spark.blockManager.port; the Service's does not.
	blockOnPod := block
	if !conf.DriverBlockManagerPort.IsSet(b.conf) {
		if blockOnPod, err = rawInt(b.conf, conf.BlockManagerPort); err != nil {
			return nil, err
		}
	}
	ui, err := conf.UIPort.Get(b.conf)
	if err != nil {
		return nil, err
	}
	all := []port{
		{"driver-rpc-port", conf.DriverPort.Key(), rpc, rpc},
		{"blockmanager", conf.DriverBlockManagerPort.Key(), blockOnPod, block},
		{"spark-ui", conf.UIPort.Key(), ui, ui},
	}
	if b.version.AtLeast(4, 1) {
		connect, err := rawInt(b.conf, conf.ConnectPort)
		if err != nil {
			return nil, err
		}
		all = append(all, port{"spark-connect", conf.ConnectPort.Key(), connect, connect})
	}
	return all, nil
}

func ports(b *build) error {
	c := b.sp.Container
	if b.driver != nil {
		all, err := driverPorts(b)
		if err != nil {
			return err
		}
		for _, p := range all {
			c.Ports = append(c.Ports, corev1.ContainerPort{
				Name: p.name, ContainerPort: int32(p.container), Protocol: corev1.ProtocolTCP})
		}
		return nil
	}
	block, err := rawInt(b.conf, conf.BlockManagerPort)
	if err != nil {
		return err
	}
	if block != 0 && (block < 1024 || block > 65535) {
		return errors.New("requirement failed: port number must be 0 or in [1024, 65535]")
	}
	if block != 0 {
		c.Ports = append(c.Ports, corev1.ContainerPort{Name: "blockmanager", ContainerPort: int32(block)})
	}
	return nil
}

// checkPorts refuses what the API would refuse after the driver pod exists.
func checkPorts(all []port) error {
	used := map[int]port{}
	for _, p := range all {
		if p.service < 1 || p.service > 65535 {
			return fmt.Errorf("%s is %d, but the driver's Service needs a fixed port between 1 and 65535", p.key, p.service)
		}
		if o, ok := used[p.service]; ok {
			return fmt.Errorf("%s and %s are both %d; the ports of the driver's Service must differ", o.key, p.key, p.service)
		}
		used[p.service] = p
	}
	return nil
}

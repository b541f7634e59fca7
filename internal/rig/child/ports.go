package child

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// Loopback is the address that everything here listens on.
const Loopback = "127.0.0.1"

// Ports are taken from below the range that the kernel uses for outgoing connections: a
// stopped server must find its port free when it comes back.
const lowestPort, highestPort = 16400, 32000

// FreePorts returns n different ports of Loopback that nobody listens on.
func FreePorts(n int) ([]int, error) {
	var ports []int
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for range 200 {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		l, err := net.Listen("tcp", net.JoinHostPort(Loopback, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		held = append(held, l)
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, errors.New("no free port on " + Loopback)
}

// Package ports finds free TCP ports on loopback and says who holds a taken one.
package ports

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
)

// Want is a port that something of ours is about to listen on.
type Want struct {
	Port int
	For  string
}

// Check reports every wanted port that is taken, with the process that holds it, in one error.
func Check(wants []Want) error {
	var taken []string
	for _, w := range wants {
		err := tryListen(w.Port)
		switch {
		case err == nil:
		case errors.Is(err, syscall.EADDRINUSE):
			taken = append(taken, fmt.Sprintf("port %d (for %s) is taken by %s", w.Port, w.For, Holder(w.Port)))
		default:
			taken = append(taken, fmt.Sprintf("port %d (for %s) cannot be used: %v", w.Port, w.For, err))
		}
	}
	if len(taken) > 0 {
		return errors.New(strings.Join(taken, "\n"))
	}
	return nil
}

func tryListen(port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}

// Free returns n different ports that nothing listens on at the moment of the call.
func Free(n int) ([]int, error) {
	found := make([]int, 0, n)
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		// Held until all are found, so that no port is found twice.
		defer l.Close()
		found = append(found, l.Addr().(*net.TCPAddr).Port)
	}
	return found, nil
}

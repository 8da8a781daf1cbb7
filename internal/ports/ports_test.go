package ports

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
)

func TestCheckNamesWhoHoldsAPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	err = Check([]Want{{port, "Prometheus north"}})
	wants := []string{fmt.Sprintf("port %d (for Prometheus north) is taken by", port)}
	if runtime.GOOS == "linux" {
		wants = append(wants, fmt.Sprintf("pid %d", os.Getpid()), "ports.test")
	}
	for _, want := range wants {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

func TestFreePortsAreDifferentAndFree(t *testing.T) {
	found, err := Free(5)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	wants := make([]Want, 0, len(found))
	for _, p := range found {
		if seen[p] {
			t.Errorf("port %d was found twice", p)
		}
		seen[p] = true
		wants = append(wants, Want{p, "test"})
	}
	if err := Check(wants); err != nil {
		t.Error(err)
	}
}

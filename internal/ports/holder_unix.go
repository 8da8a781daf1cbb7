//go:build unix && !linux

package ports

import "fmt"

// Holder says how to find the process that listens on a port; without /proc that needs a tool.
func Holder(port int) string { return fmt.Sprintf("another process (see: lsof -i tcp:%d)", port) }

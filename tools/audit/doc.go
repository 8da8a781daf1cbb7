// Package audit looks at what others made and the repository uses. Its module has the tools for it: actionlint for the
// workflows, which is a test, and govulncheck, which needs the network and is `go tool mage audit`.
package audit

// Package servers holds the tests of pkg/history that need real Prometheus servers: replicas with gaps and one that dies, a fleet
// that upgrades its exporters, the shipped recording rules, exemplars and native histograms. It has no code of its own.
package servers

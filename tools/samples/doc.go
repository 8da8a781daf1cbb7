// Package samples tests the configurations of Prometheus in provisioning/ with the code that a server runs.
package samples

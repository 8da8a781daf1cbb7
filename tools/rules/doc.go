// Package rules tests what dashboards/rules makes for one exporter with Prometheus' own engine and checks.
package rules

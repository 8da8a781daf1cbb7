// Package alerts asks Alertmanagers, by version 2 of their API, what fires now and what is silenced. Several are asked at the same
// time; what more than one of them tells counts once. It asks whom it is told to, and follows no redirect.
package alerts

// Package panelbench measures the fleet panel's drawing in a browser.
package panelbench

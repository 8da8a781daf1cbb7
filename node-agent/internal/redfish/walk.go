package redfish

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/stmcginnis/gofish/common"
)

var (
	errLoggedOut = errors.New("the service does not accept the login (401)")
	errMissing   = errors.New("the resource does not exist")
)

// getter is gofish's client, as far as it is used.
type getter interface {
	Get(path string) (*http.Response, error)
}

// walk goes through a service once.
type walk struct {
	client   getter
	boring   map[string]bool // sensors that are of no interest, kept from round to round
	readings map[place]map[quantity]float64
	answered int   // resources
	failed   int   // resources
	first    error // why the first of them failed
}

// get reads a resource. A link that is not there, or leads nowhere, is no failure: services differ in what they have.
func (w *walk) get(l link, into any) error {
	if l.ID == "" {
		return errMissing
	}
	err := w.fetch(l.ID, into)
	switch {
	case err == nil:
		w.answered++
	case errors.Is(err, errMissing):
	default:
		w.failed++
		if w.first == nil || errors.Is(err, errLoggedOut) {
			w.first = fmt.Errorf("read %s: %w", name(l.ID), err)
		}
	}
	return err
}

func (w *walk) fetch(path string, into any) error {
	if !strings.HasPrefix(path, "/redfish/") {
		return errElsewhere
	}
	answer, err := w.client.Get(path)
	var e *common.Error
	if errors.As(err, &e) {
		switch e.HTTPReturnedStatusCode {
		case http.StatusUnauthorized:
			return errLoggedOut
		case http.StatusNotFound:
			return errMissing
		case 0:
		default:
			return fmt.Errorf("the service answers %d", e.HTTPReturnedStatusCode)
		}
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}

// over decides whether the rest of the round is worth the try.
func (w *walk) over() bool {
	return errors.Is(w.first, errLoggedOut) || errors.Is(w.first, errTooMany)
}

// members calls f for each link of a collection.
func (w *walk) members(l link, f func(link)) {
	for pages := 0; l.ID != "" && pages < 100 && !w.over(); pages++ {
		var c collection
		if w.get(l, &c) != nil {
			return
		}
		for _, m := range c.Members {
			if w.over() {
				return
			}
			f(m)
		}
		l = link{c.Next}
	}
}

func (w *walk) add(p place, q quantity, value *float64, factor float64) {
	if value == nil {
		return
	}
	if w.readings[p] == nil {
		w.readings[p] = map[quantity]float64{}
	}
	if _, ok := w.readings[p][q]; !ok {
		w.readings[p][q] = *value * factor
	}
}

// all reads everything there is.
func (w *walk) all() {
	var root serviceRoot
	if w.get(link{"/redfish/v1/"}, &root) != nil {
		return
	}
	w.members(root.Chassis, w.chassis)
	var e thermalEquipment
	if w.get(root.ThermalEquipment, &e) != nil {
		return
	}
	for _, units := range []link{e.CDUs, e.HeatExchangers, e.ImmersionUnits} {
		w.members(units, w.coolingUnit)
	}
}

func (w *walk) chassis(l link) {
	var c chassis
	if w.get(l, &c) != nil || !c.Status.present() {
		return
	}
	equipment := name(c.ID)
	inlet := false
	w.members(c.Sensors, func(l link) { inlet = w.sensor(equipment, l) || inlet })
	var t thermalSubsystem
	if w.get(c.ThermalSubsystem, &t) == nil {
		w.leaks(equipment, t.LeakDetection)
		w.members(t.CoolantConnectors, func(l link) { w.connector(equipment, "", l) })
	}
	var old thermal
	if !inlet && w.get(c.Thermal, &old) == nil {
		for _, r := range old.Temperatures {
			if r.Status.present() && isInlet(r.PhysicalContext, strings.ToLower(r.Name)) {
				w.add(place{equipment: equipment, sensor: name(r.MemberID, r.Name)}, inletTemperature, r.ReadingCelsius, 1)
			}
		}
	}
}

// sensor reports whether it is one of the air that comes in.
func (w *walk) sensor(equipment string, l link) bool {
	if w.boring[l.ID] {
		return false
	}
	var s sensor
	if w.get(l, &s) != nil {
		return false
	}
	q, port, factor, ok := classify(s)
	if !ok {
		if len(w.boring) < 10*maxRequests {
			w.boring[l.ID] = true
		}
		return false
	}
	if !s.Status.present() || s.Reading == nil {
		return false
	}
	w.add(place{equipment: equipment, sensor: name(s.ID, s.Name), port: port}, q, s.Reading, factor)
	return q == inletTemperature
}

func (w *walk) leaks(equipment string, l link) {
	var d leakDetection
	if w.get(l, &d) != nil {
		return
	}
	w.members(d.LeakDetectors, func(l link) {
		var d leakDetector
		if w.get(l, &d) != nil || !d.Status.present() {
			return
		}
		var detected float64
		switch d.DetectorState {
		case "OK":
		case "Warning", "Critical":
			detected = 1
		default:
			return // it does not know
		}
		w.add(place{equipment: equipment, sensor: name(d.ID)}, leak, &detected, 1)
	})
}

func (w *walk) coolingUnit(l link) {
	var u coolingUnit
	if w.get(l, &u) != nil || !u.Status.present() {
		return
	}
	equipment := name(u.ID)
	w.members(u.PrimaryCoolantConnectors, func(l link) { w.connector(equipment, "primary", l) })
	w.members(u.SecondaryCoolantConnectors, func(l link) { w.connector(equipment, "secondary", l) })
	w.leaks(equipment, u.LeakDetection)
}

func (w *walk) connector(equipment, side string, l link) {
	var c coolantConnector
	if w.get(l, &c) != nil || !c.Status.present() {
		return
	}
	p := place{equipment: equipment, sensor: name(c.ID), side: side}
	w.add(p, supplyTemperature, c.SupplyTemperatureCelsius.Reading, 1)
	w.add(p, returnTemperature, c.ReturnTemperatureCelsius.Reading, 1)
	w.add(p, flow, c.FlowLitersPerMinute.Reading, 1)
	w.add(p, pressureDifference, c.DeltaPressurekPa.Reading, 1000)
	w.add(p, heatRemoved, c.HeatRemovedkW.Reading, 1000)
	p.port = "supply"
	w.add(p, pressure, c.SupplyPressurekPa.Reading, 1000)
	p.port = "return"
	w.add(p, pressure, c.ReturnPressurekPa.Reading, 1000)
}

// list is what was read.
func (w *walk) list() []reading {
	var all []reading
	for p, values := range w.readings {
		for q, v := range values {
			all = append(all, reading{quantity: q, place: p, value: v})
		}
	}
	return all
}

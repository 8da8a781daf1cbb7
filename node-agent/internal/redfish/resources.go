package redfish

import "slices"

// The resources, after DMTF's schemas, with what is used of them. A number is a pointer: null and absent are not zero.

type link struct {
	ID string `json:"@odata.id"`
}

type collection struct {
	Members []link `json:"Members"`
	Next    string `json:"Members@odata.nextLink"`
}

type serviceRoot struct {
	Chassis, ThermalEquipment link
}

type status struct {
	State string `json:"State"`
}

// present reports whether something is there and at work. A resource that does not say is.
func (s status) present() bool {
	return !slices.Contains([]string{"Absent", "Disabled", "UnavailableOffline", "StandbyOffline"}, s.State)
}

type chassis struct {
	ID               string `json:"Id"`
	Status           status
	Sensors          link
	ThermalSubsystem link
	Thermal          link
}

type thermalSubsystem struct {
	LeakDetection     link
	CoolantConnectors link
}

type leakDetection struct {
	LeakDetectors link
}

type leakDetector struct {
	ID            string `json:"Id"`
	Status        status
	DetectorState string
}

type sensor struct {
	ID              string `json:"Id"`
	Name            string
	Status          status
	Reading         *float64
	ReadingType     string
	ReadingUnits    string
	PhysicalContext string
}

// thermal is the resource of older services.
type thermal struct {
	Temperatures []struct {
		MemberID        string `json:"MemberId"`
		Name            string
		Status          status
		ReadingCelsius  *float64
		PhysicalContext string
	}
}

type thermalEquipment struct {
	CDUs, HeatExchangers, ImmersionUnits link
}

type coolingUnit struct {
	ID                         string `json:"Id"`
	Status                     status
	PrimaryCoolantConnectors   link
	SecondaryCoolantConnectors link
	LeakDetection              link
}

// excerpt is a sensor's value inside another resource.
type excerpt struct {
	Reading *float64
}

type coolantConnector struct {
	ID                       string `json:"Id"`
	Status                   status
	SupplyTemperatureCelsius excerpt
	ReturnTemperatureCelsius excerpt
	FlowLitersPerMinute      excerpt
	SupplyPressurekPa        excerpt
	ReturnPressurekPa        excerpt
	DeltaPressurekPa         excerpt
	HeatRemovedkW            excerpt
}

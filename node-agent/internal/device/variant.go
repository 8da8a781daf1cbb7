package device

// ECCLocations are the parts of a board whose memory errors are counted apart. The order is that of the variants.
var ECCLocations = [...]string{
	"l1_cache", "l2_cache", "device_memory", "register_file", "texture_memory", "shared_memory", "cbu", "sram",
}

// RemapAvailabilities are how many spare rows a memory bank may have left. The order is that of the variants.
var RemapAvailabilities = [...]string{"max", "high", "partial", "low", "none"}

// MaxNVLinks is how many NVLinks a board has at most.
const MaxNVLinks = 18

// The first variant of each metric with a label of its own; At gives the others.
const (
	ECCCorrectedAt           = numScalars
	ECCUncorrectedAt         = ECCCorrectedAt + Metric(len(ECCLocations))
	ECCCorrectedLifetimeAt   = ECCUncorrectedAt + Metric(len(ECCLocations))
	ECCUncorrectedLifetimeAt = ECCCorrectedLifetimeAt + Metric(len(ECCLocations))
	RowRemapBanks            = ECCUncorrectedLifetimeAt + Metric(len(ECCLocations))

	LinkState          = RowRemapBanks + Metric(len(RemapAvailabilities))
	LinkSpeed          = LinkState + MaxNVLinks
	LinkTransmit       = LinkSpeed + MaxNVLinks
	LinkReceive        = LinkTransmit + MaxNVLinks
	LinkCRCErrors      = LinkReceive + MaxNVLinks
	LinkReplayErrors   = LinkCRCErrors + MaxNVLinks
	LinkRecoveryErrors = LinkReplayErrors + MaxNVLinks

	// NumMetrics is how many readings a device has.
	NumMetrics = LinkRecoveryErrors + MaxNVLinks
)

// variants is a metric with one label, whose values are known.
type variants struct {
	first  Metric
	name   string
	group  Group
	label  string
	values []string
}

var allVariants = [...]variants{
	{ECCCorrectedAt, "gpu_ecc_location_corrected_errors_total", GroupECCLocations, "location", ECCLocations[:]},
	{ECCUncorrectedAt, "gpu_ecc_location_uncorrected_errors_total", GroupECCLocations, "location", ECCLocations[:]},
	{ECCCorrectedLifetimeAt, "gpu_ecc_location_corrected_errors_lifetime_total", GroupECCLocations, "location", ECCLocations[:]},
	{ECCUncorrectedLifetimeAt, "gpu_ecc_location_uncorrected_errors_lifetime_total", GroupECCLocations, "location", ECCLocations[:]},
	{RowRemapBanks, "gpu_row_remap_banks", GroupRemapHistogram, "availability", RemapAvailabilities[:]},
	{LinkState, "gpu_nvlink_link_active", GroupNVLinkLinks, "link", links[:]},
	{LinkSpeed, "gpu_nvlink_link_max_bytes_per_second", GroupNVLinkLinks, "link", links[:]},
	{LinkTransmit, "gpu_nvlink_link_transmit_bytes_total", GroupNVLinkLinks, "link", links[:]},
	{LinkReceive, "gpu_nvlink_link_receive_bytes_total", GroupNVLinkLinks, "link", links[:]},
	{LinkCRCErrors, "gpu_nvlink_link_crc_errors_total", GroupNVLinkLinks, "link", links[:]},
	{LinkReplayErrors, "gpu_nvlink_link_replay_errors_total", GroupNVLinkLinks, "link", links[:]},
	{LinkRecoveryErrors, "gpu_nvlink_link_recovery_errors_total", GroupNVLinkLinks, "link", links[:]},
}

var links = [MaxNVLinks]string{
	"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17",
}

// At is variant i of the metric whose first variant m is: ECCCorrectedAt.At(2), LinkState.At(17).
func (m Metric) At(i int) Metric { return m + Metric(i) }

// Label is what tells the variants of a metric apart, "" for a metric without.
func (m Metric) Label() (name, value string) {
	if m < numScalars || m >= NumMetrics {
		return "", ""
	}
	v := m.variants()
	return v.label, v.values[m-v.first]
}

// variants is what a variant belongs to.
func (m Metric) variants() *variants {
	i := len(allVariants) - 1
	for i > 0 && m < allVariants[i].first {
		i--
	}
	return &allVariants[i]
}

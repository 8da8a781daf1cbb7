package textfile

import "github.com/prometheus/client_golang/prometheus"

// Collector shows the state of the files. Their series are in the store's figures.
type Collector struct {
	reader         *Reader
	mtime, refused *prometheus.Desc
	folder         *prometheus.Desc
}

// NewCollector returns a collector for r.
func NewCollector(r *Reader) *Collector {
	return &Collector{
		reader: r,
		mtime: prometheus.NewDesc("warpwatch_agent_textfile_mtime_seconds",
			"When a textfile was written last, as the agent last saw it.", []string{"file"}, nil),
		refused: prometheus.NewDesc("warpwatch_agent_textfile_refused",
			"Whether a textfile, or part of it, was refused; the agent's log says why.", []string{"file"}, nil),
		folder: prometheus.NewDesc("warpwatch_agent_textfile_folder_refused",
			"Whether the textfile folder could not be read whole; the agent's log says why.", nil, nil),
	}
}

// Describe is of prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.mtime
	ch <- c.refused
	ch <- c.folder
}

// Collect is of prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	files, problem := c.reader.Status()
	ch <- prometheus.MustNewConstMetric(c.folder, prometheus.GaugeValue, number(problem != ""))
	for _, f := range files {
		if !f.Modified.IsZero() {
			ch <- prometheus.MustNewConstMetric(c.mtime, prometheus.GaugeValue, float64(f.Modified.UnixNano())/1e9, f.Name)
		}
		ch <- prometheus.MustNewConstMetric(c.refused, prometheus.GaugeValue, number(f.Problem != ""), f.Name)
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

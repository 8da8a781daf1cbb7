package catalog

import "strings"

// advice is how a user gets a metric from one dialect, with words in braces to be filled in.
type advice struct {
	Dialect Dialect `yaml:"dialect"`
	All     bool    `yaml:"all"`    // it gives whatever it knows
	Given   string  `yaml:"given"`  // for what is there without doing anything
	Add     string  `yaml:"add"`    // for what must be asked for
	Report  string  `yaml:"report"` // for what processes report to it
	Newer   string  `yaml:"newer"`  // what else is to be said of a field that was renamed
	Lines   bool    `yaml:"lines"`  // of dcgm-exporter's file of counters
}

// remark is what else must be so for series to appear.
type remark struct {
	Mark string `yaml:"mark"` // what their names begin with
	Text string `yaml:"text"`
}

// Option is how one dialect may give a metric.
type Option struct {
	Dialect Dialect
	Sources []Source // the most preferred first
	Given   bool     // an exporter that nobody configured gives it
	Enable  string   // what to do to get it, in sentences; Lines follow where there are any
	Lines   []string // of the exporter's file of counters, to be added or already there
}

// Explain lists the dialects that may give a metric, the most preferred first.
func (c *Catalog) Explain(metric string) []Option {
	m, ok := c.Metric(metric)
	if !ok {
		return nil
	}
	var options []Option
	for _, s := range m.Sources {
		if n := len(options); n == 0 || options[n-1].Dialect != s.Dialect {
			options = append(options, Option{Dialect: s.Dialect})
		}
		last := &options[len(options)-1]
		last.Sources = append(last.Sources, s)
	}
	for i := range options {
		o := &options[i]
		o.Given = c.isGiven(m, *o)
		o.Enable = c.enable(m, *o)
		if c.adviceOf(o.Dialect).Lines {
			o.Lines = o.counterLines(m)
		}
	}
	return options
}

// Enable tells a user what to do to get a metric from a dialect, with the lines to add; "" when the dialect does not have it.
func (c *Catalog) Enable(metric string, d Dialect) string {
	for _, o := range c.Explain(metric) {
		if o.Dialect == d {
			return strings.Join(append([]string{o.Enable}, o.Lines...), "\n")
		}
	}
	return ""
}

func (c *Catalog) adviceOf(d Dialect) advice {
	for _, a := range c.advice {
		if a.Dialect == d {
			return a
		}
	}
	return advice{Dialect: d, All: true, Given: "The exporter writes {series}."}
}

// standard reports whether an agent that nobody configured has a profile.
func standard(profile string) bool { return profile == "lean" || profile == "standard" }

func (c *Catalog) isGiven(m Metric, o Option) bool {
	switch {
	case o.Dialect == Warpwatch:
		return standard(m.Profile)
	case c.adviceOf(o.Dialect).All:
		return c.remarkOn(o.advised()) == ""
	}
	for _, s := range o.Sources {
		if c.given[s.Series] {
			return true
		}
	}
	return false
}

// advised is the source to ask for: the one that most versions of the exporter in the field have.
func (o Option) advised() Source {
	for _, s := range o.Sources {
		if s.Generation == "" || s.Generation == "3.x" {
			return s
		}
	}
	return o.Sources[0]
}

// newer is what the series is called in the newest versions of the exporter, "" when that is the same.
func (o Option) newer() string {
	for _, s := range o.Sources {
		if s.Generation == newestDCGM && s.Part == o.advised().Part && s.Series != o.advised().Series {
			return s.Series
		}
	}
	return ""
}

// newestDCGM is the version of dcgm-exporter since which its newest names hold.
const newestDCGM = "4.9"

func (c *Catalog) enable(m Metric, o Option) string {
	rule, source := c.adviceOf(o.Dialect), o.advised()
	text := rule.Add
	switch {
	case o.Dialect == Warpwatch && m.Group == "":
		text = rule.Report
	case o.Given || text == "":
		text = rule.Given
	}
	newer := o.newer()
	if newer != "" && rule.Newer != "" {
		text += " " + rule.Newer
	}
	if remark := c.remarkOn(source); remark != "" {
		text += " " + remark
	}
	return strings.NewReplacer("{series}", source.Series, "{newer}", newer, "{group}", m.Group, "{profile}", m.Profile,
		"{field}", m.NvidiaSMI).Replace(text)
}

// remarkOn is what must be so for a series to appear; of several the one that is most particular.
func (c *Catalog) remarkOn(s Source) string {
	best := remark{}
	for _, r := range c.remarks {
		if len(r.Mark) > len(best.Mark) && strings.HasPrefix(s.Series, r.Mark) {
			best = r
		}
	}
	return best.Text
}

// counterLines are lines of dcgm-exporter's file of counters, which have three fields and no way to quote a comma.
func (o Option) counterLines(m Metric) []string {
	help, _, _ := strings.Cut(strings.TrimSuffix(m.Help, "."), ";")
	help = strings.Map(func(r rune) rune {
		switch r {
		case ',', '"', '\n', '\r':
			return -1
		}
		return r
	}, help)
	var lines []string
	for _, s := range o.Sources {
		if advised := o.advised(); s.Series == advised.Series || s.Part != "" && s.Generation == advised.Generation {
			lines = append(lines, s.Series+", "+string(m.Kind)+", "+help+".")
		}
	}
	return lines
}

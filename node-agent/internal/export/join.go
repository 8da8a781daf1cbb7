package export

import (
	"bytes"
	"strings"
)

// Appender adds text of its own to /metrics, in the format 0.0.4: each family in one piece, with its header, and no
// timestamps. It must not keep dst.
type Appender interface {
	Append(dst []byte) []byte
}

// joiner puts together what several parties write, so that a scraper can read the whole: no name is there twice, and none
// of theirs passes for one of the agent's.
type joiner struct {
	taken   map[string]bool // names that a scraper sees
	refused func(name string)
}

// ownPrefixes begin the names that nobody but the agent may use.
func ownPrefixes() []string { return []string{"gpu_", "warpwatch_"} }

func reserved(name string) bool {
	for _, p := range ownPrefixes() {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// claim takes the names of a family, all or none of them.
func (j *joiner) claim(name, kind string) bool {
	names := exposed(name, kind)
	for _, n := range names {
		if j.taken[n] {
			j.refused(name)
			return false
		}
	}
	for _, n := range names {
		j.taken[n] = true
	}
	return true
}

// exposed are the names that a scraper sees of a family.
func exposed(name, kind string) []string {
	switch kind {
	case "histogram":
		return []string{name, name + "_bucket", name + "_sum", name + "_count"}
	case "summary":
		return []string{name, name + "_sum", name + "_count"}
	}
	return []string{name}
}

// add appends text, without the families that must not be there.
func (j *joiner) add(dst, text []byte) []byte {
	for len(text) > 0 {
		name, kind, size := firstFamily(text)
		piece := text[:size]
		text = text[size:]
		switch {
		case name == "": // blank lines, and comments that belong to nothing
		case reserved(name):
			j.refused(name)
		case j.claim(name, kind):
			dst = append(dst, piece...)
			if dst[len(dst)-1] != '\n' {
				dst = append(dst, '\n')
			}
		}
	}
	return dst
}

// firstFamily measures the family that text begins with: its header and its samples.
func firstFamily(text []byte) (name, kind string, size int) {
	for size < len(text) {
		line := text[size:]
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line = line[:end+1]
		}
		of, as := lineOf(line)
		switch {
		case name == "":
			name = of
		case of != "" && of != name && !belongs(of, name, kind):
			return name, kind, size
		}
		if as != "" && of == name {
			kind = as
		}
		size += len(line)
	}
	return name, kind, size
}

func belongs(sample, family, kind string) bool {
	for _, n := range exposed(family, kind) {
		if n == sample {
			return true
		}
	}
	return false
}

// lineOf says which metric a line speaks of, and as what kind it declares it, if it does.
func lineOf(line []byte) (name, kind string) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return "", ""
	}
	if line[0] != '#' {
		if end := bytes.IndexAny(line, "{ \t"); end >= 0 {
			line = line[:end]
		}
		return string(line), ""
	}
	words := bytes.Fields(line[1:])
	if len(words) < 2 {
		return "", ""
	}
	switch string(words[0]) {
	case "HELP":
		return string(words[1]), ""
	case "TYPE":
		if len(words) > 2 {
			kind = strings.ToLower(string(words[2]))
		}
		return string(words[1]), kind
	}
	return "", ""
}

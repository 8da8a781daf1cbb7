package history

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"unique"
)

// labelText is a label set as one text: the labels sorted by name, each text with its length before it. Two sets have the
// same text when they are the same set. buf is scratch.
func labelText(labels labelSet, buf []byte) []byte {
	sorted := labels.all()
	if !slices.IsSortedFunc(sorted, compareNames) {
		sorted = slices.Clone(sorted)
		slices.SortFunc(sorted, compareNames)
	}
	buf = buf[:0]
	for _, l := range sorted {
		buf = binary.AppendUvarint(buf, uint64(len(l.Name)))
		buf = append(buf, l.Name...)
		buf = binary.AppendUvarint(buf, uint64(len(l.Value)))
		buf = append(buf, l.Value...)
	}
	return buf
}

// readLabels takes a text of labelText apart, into the room of the slice. It reports whether the text is one.
func readLabels(text string, room []label) ([]label, bool) {
	for text != "" {
		var l label
		for _, part := range []*string{&l.Name, &l.Value} {
			length, n := uvarint(text)
			if n <= 0 || length > uint64(len(text)-n) {
				return room, false
			}
			*part = text[n : n+int(length)]
			text = text[n+int(length):]
		}
		room = append(room, l)
	}
	return room, true
}

// uvarint is binary.Uvarint of a string.
func uvarint(text string) (value uint64, n int) {
	var buf [binary.MaxVarintLen64]byte
	return binary.Uvarint(buf[:copy(buf[:], text)])
}

// compareLabels is the order in which Prometheus answers.
func compareLabels(x, y labelSet) int {
	a, b := x.all(), y.all()
	for i := range min(len(a), len(b)) {
		if c := cmp.Or(strings.Compare(a[i].Name, b[i].Name), strings.Compare(a[i].Value, b[i].Value)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// identify is the id of a label set.
func identify(labels labelSet, buf []byte) (seriesID, []byte) {
	buf = labelText(labels, buf)
	return unique.Make(string(buf)), buf
}

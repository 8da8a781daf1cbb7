package attribute

import (
	"fmt"
	"slices"
	"strings"
)

const maxNotice = 400 // bytes of one

// notices collects sentences, each once, up to a limit.
type notices struct {
	texts []string
	more  int
}

// add takes sentences; "" is none.
func (n *notices) add(texts ...string) {
	for _, text := range texts {
		if len(text) > maxNotice {
			text = strings.ToValidUTF8(text[:maxNotice], "") + "…"
		}
		switch {
		case text == "" || slices.Contains(n.texts, text):
		case len(n.texts) < maxNotices:
			n.texts = append(n.texts, text)
		default:
			n.more++
		}
	}
}

func (n *notices) all() []string {
	if n.more > 0 {
		return append(n.texts, fmt.Sprintf("and %d more of this kind", n.more))
	}
	return n.texts
}

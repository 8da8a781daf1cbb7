package main

import (
	"fmt"
	"strings"
)

// noticeText is what the licences of the parts ask to be told to whoever is given the program. Texts that several parts
// have alike are printed once.
func noticeText(p product, parts []part) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s contains the following software of others, under the licences that follow.\n\n", p.name, p.version)
	for _, part := range parts {
		fmt.Fprintf(&out, "  %s %s (%s)\n", fullName(part), part.version, part.licence)
	}
	users, order := map[string][]string{}, []string{}
	for _, part := range parts {
		for _, text := range part.texts {
			content := tidy(text.content)
			if _, had := users[content]; !had {
				order = append(order, content)
			}
			users[content] = append(users[content], fullName(part)+" ("+text.name+")")
		}
	}
	for _, content := range order {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s", strings.Repeat("=", 80), strings.Join(users[content], "\n"), content)
	}
	return out.String()
}

func fullName(p part) string {
	if p.group != "" {
		return p.group + "/" + p.name
	}
	return p.name
}

// tidy ends lines and texts alike.
func tidy(text string) string {
	return strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), " \t\n") + "\n"
}

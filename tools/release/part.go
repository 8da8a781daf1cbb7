package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// part is one thing of others that a program contains.
type part struct {
	purl    string // the package URL, which is its identity
	group   string // npm's scope
	name    string
	version string
	sha512  string // of npm's archive, in hexadecimal; empty for Go modules
	goSum   string // as go.sum has it; empty for npm packages
	licence string // an SPDX expression
	texts   []text // its licence and notice files
}

// text is one licence or notice file.
type text struct {
	name    string
	content string
}

// allowed are the licences whose terms a program under the Apache licence can keep by telling them.
func allowed(licence string) bool {
	switch licence {
	case "Apache-2.0", "MIT", "MIT-0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "0BSD", "Unlicense", "CC0-1.0", "Zlib", "BlueOak-1.0.0",
		// The sources stay as they were, and the notices say where they are.
		"MPL-2.0":
		return true
	}
	return false
}

// check refuses parts whose licence is not known, or does not go with ours.
func check(parts []part) error {
	var errs []error
	for _, p := range parts {
		ids, err := licenceIDs(p.licence)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.purl, err))
		}
		for _, id := range ids {
			if !allowed(id) {
				errs = append(errs, fmt.Errorf("%s is under %s, which is not among the licences that may be shipped", p.purl, id))
			}
		}
	}
	return errors.Join(errs...)
}

// unique sorts parts and leaves each once.
func unique(parts []part) []part {
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.purl, b.purl) })
	return slices.CompactFunc(parts, func(a, b part) bool { return a.purl == b.purl })
}

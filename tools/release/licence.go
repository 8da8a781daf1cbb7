package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// legal are the names of files that a package's licence asks to keep.
var legal = regexp.MustCompile(`(?i)^(licen[cs]es?|copying|copyright|notice|patents|unlicense)([-._].*)?$`)

// texts are the licence and notice files at the top of a package.
func texts(dir string) ([]text, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look for a licence: %w", err)
	}
	var found []text
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !legal.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read a licence: %w", err)
		}
		found = append(found, text{entry.Name(), string(content)})
	}
	return found, nil
}

// enough is how much of a file, in percent, must be known licence text for the file to be one.
const enough = 60

// recognise says which licences the files are, as an SPDX expression.
func recognise(files []text) (string, error) {
	var ids []string
	for _, file := range files {
		if strings.HasPrefix(strings.ToUpper(file.name), "PATENTS") || strings.HasPrefix(strings.ToUpper(file.name), "NOTICE") {
			continue
		}
		cover := licensecheck.Scan([]byte(file.content))
		if cover.Percent < enough {
			continue
		}
		for _, match := range cover.Match {
			if !match.IsURL && !slices.Contains(ids, match.ID) {
				ids = append(ids, match.ID)
			}
		}
	}
	if len(ids) == 0 {
		return "", errors.New("no licence was recognised")
	}
	slices.Sort(ids)
	return strings.Join(ids, " AND "), nil
}

// licenceIDs are the licences in an SPDX expression that must all be kept. Of alternatives it takes the first that may
// be shipped.
func licenceIDs(expression string) ([]string, error) {
	if expression == "" {
		return nil, errors.New("no licence is known")
	}
	bare := strings.NewReplacer("(", "", ")", "").Replace(expression)
	var ids []string
	for _, all := range strings.Split(bare, " AND ") {
		choices := strings.Split(strings.TrimSpace(all), " OR ")
		i := max(0, slices.IndexFunc(choices, allowed))
		ids = append(ids, choices[i])
	}
	return ids, nil
}

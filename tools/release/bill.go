package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// bill writes what programs and bundles are made of: as a CycloneDX document, and the licences as a text.
func bill(ctx context.Context, args []string) error {
	var p product
	var programs list
	set := flag.NewFlagSet("bill", flag.ContinueOnError)
	done := flags(set, &p)
	set.Var(&programs, "program", "a Go program; several times")
	bundles := set.String("bundles", "", "a folder with JavaScript bundles and their source maps")
	document := set.String("sbom", "", "the CycloneDX document to write")
	notices := set.String("notices", "", "the text of licences to write")
	if err := set.Parse(args); err != nil {
		return err
	}
	if err := done(); err != nil {
		return err
	}
	parts, err := goModules(ctx, p.root, programs)
	if err != nil {
		return err
	}
	if *bundles != "" {
		npm, err := npmPackages(p.root, *bundles)
		if err != nil {
			return err
		}
		parts = append(parts, npm...)
	}
	parts = unique(parts)
	if err := check(parts); err != nil {
		return err
	}
	encoded, err := sbom(p, parts)
	if err != nil {
		return err
	}
	if err := os.WriteFile(*document, encoded, 0o644); err != nil {
		return err
	}
	return os.WriteFile(*notices, []byte(noticeText(p, parts)), 0o644)
}

// sbom is a CycloneDX document in JSON. Equal parts give equal bytes: its serial number is derived from the rest.
func sbom(p product, parts []part) ([]byte, error) {
	own := "pkg:github/warpwatch/warpwatch@v" + p.version + "#" + p.name
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: p.at.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: own, Type: cdx.ComponentTypeApplication, Name: p.name, Version: p.version, PackageURL: own, Licenses: licences("Apache-2.0"),
		},
	}
	components := make([]cdx.Component, 0, len(parts))
	refs := make([]string, 0, len(parts))
	for _, part := range parts {
		components = append(components, component(part))
		refs = append(refs, part.purl)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: own, Dependencies: &refs}}
	unnamed, err := encode(bom)
	if err != nil {
		return nil, err
	}
	bom.SerialNumber = uuid.NewHash(sha256.New(), uuid.NameSpaceURL, unnamed, 8).URN()
	return encode(bom)
}

func component(p part) cdx.Component {
	c := cdx.Component{
		BOMRef: p.purl, Type: cdx.ComponentTypeLibrary, Group: p.group, Name: p.name, Version: p.version, PackageURL: p.purl, Scope: cdx.ScopeRequired,
		Licenses: licences(p.licence),
	}
	if p.sha512 != "" {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA512, Value: p.sha512}}
	}
	if p.goSum != "" {
		c.Properties = &[]cdx.Property{{Name: "go:sum", Value: p.goSum}}
	}
	return c
}

// licences are one licence by its name, or an expression of several.
func licences(expression string) *cdx.Licenses {
	if strings.Contains(expression, " ") {
		return &cdx.Licenses{{Expression: expression}}
	}
	return &cdx.Licenses{{License: &cdx.License{ID: expression}}}
}

func encode(bom *cdx.BOM) ([]byte, error) {
	var out bytes.Buffer
	// 1.6 is what most readers know by now.
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("write the bill of materials: %w", err)
	}
	return out.Bytes(), nil
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

const root = "../.."

func testProduct() product {
	return product{root: root, name: "thing", version: "1.2.3", at: time.Unix(1_700_000_000, 0).UTC()}
}

func TestPackageFolder(t *testing.T) {
	for source, want := range map[string]string{
		"webpack://app/../node_modules/semver/index.js":                          "node_modules/semver",
		"webpack://app/../node_modules/@lezer/lr/dist/index.js":                  "node_modules/@lezer/lr",
		"webpack://app/../node_modules/a/node_modules/@b/c/d.js":                 "node_modules/a/node_modules/@b/c",
		"webpack://app/../node_modules/grafana-public-path.js":                   "",
		"webpack://app/./pages/fleet.tsx":                                        "",
		`webpack://app/external amd "react"`:                                     "",
		"webpack://app/../node_modules/@floating-ui/react/dist/floating.esm.mjs": "node_modules/@floating-ui/react",
	} {
		if got := packageFolder(source); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}

// checkout is a folder with a lock file, bundles and two packages, one of them within the other.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"package-lock.json": `{"packages": {
			"node_modules/a": {"version": "1.0.0", "integrity": "sha512-AQID", "license": "MIT"},
			"node_modules/a/node_modules/@b/c": {"version": "2.0.0", "integrity": "sha512-BAUG", "license": "(MIT OR GPL-3.0)"},
			"node_modules/unused": {"version": "3.0.0", "integrity": "sha512-AQID", "license": "GPL-3.0"}}}`,
		"dist/x.js.map":                               `{"sources": ["webpack://x/../node_modules/a/i.js", "webpack://x/../node_modules/a/node_modules/@b/c/i.js", "webpack://x/./own.ts"]}`,
		"node_modules/a/LICENSE":                      "terms of a\r\n",
		"node_modules/a/node_modules/@b/c/LICENCE.md": "terms of a\n\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPackagesInBundles(t *testing.T) {
	dir := checkout(t)
	parts, err := npmPackages(dir, filepath.Join(dir, "dist"))
	if err != nil {
		t.Fatal(err)
	}
	parts = unique(parts)
	if len(parts) != 2 || parts[0].purl != "pkg:npm/%40b/c@2.0.0" || parts[1].purl != "pkg:npm/a@1.0.0" || parts[1].sha512 != "010203" {
		t.Fatalf("got %+v", parts)
	}
	if err := check(parts); err != nil {
		t.Error(err)
	}
	text := noticeText(testProduct(), parts)
	if strings.Count(text, "terms of a\n") != 1 || !strings.Contains(text, "@b/c (LICENCE.md)\na (LICENSE)\n") {
		t.Errorf("equal terms are not told once, for both:\n%s", text)
	}
}

func TestBundlesWithoutMapsAreRefused(t *testing.T) {
	if _, err := npmPackages(checkout(t), t.TempDir()); err == nil || !strings.Contains(err.Error(), "no source maps") {
		t.Errorf("got %v", err)
	}
}

func TestLicencesThatMayNotBeShipped(t *testing.T) {
	for licence, want := range map[string]string{
		"MIT": "", "Apache-2.0 AND MIT": "", "(MPL-2.0 OR GPL-2.0)": "", "": "no licence is known",
		"GPL-3.0": "is under GPL-3.0", "MIT AND AGPL-3.0": "is under AGPL-3.0", "(GPL-2.0 OR LGPL-3.0)": "is under GPL-2.0",
	} {
		err := check([]part{{purl: "pkg:x", licence: licence}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", licence, err)
		}
	}
}

func TestRecogniseLicence(t *testing.T) {
	apache, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := recognise([]text{{"LICENSE", string(apache)}, {"NOTICE", "made by"}}); got != "Apache-2.0" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := recognise([]text{{"LICENSE", "All rights reserved."}}); err == nil {
		t.Errorf("took it for %s", got)
	}
}

// This test is a program with modules, and its sources lie where go.mod of this module says.
func TestModulesOfAProgram(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parts, err := goModules(t.Context(), ".", []string{program, program})
	if err != nil {
		t.Fatal(err)
	}
	find := func(name string) part {
		i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
		if i < 0 {
			t.Fatalf("%s is not among %d parts", name, len(parts))
		}
		return parts[i]
	}
	if p := find("github.com/CycloneDX/cyclonedx-go"); p.licence != "Apache-2.0" || !strings.HasPrefix(p.goSum, "h1:") || len(p.texts) == 0 {
		t.Errorf("got %+v", p)
	}
	if p := find("std"); p.licence != "BSD-3-Clause" || !strings.HasPrefix(runtime.Version(), "go"+p.version) {
		t.Errorf("got %+v", p)
	}
	if n := len(parts); n != len(unique(parts)) {
		t.Errorf("of %d parts some are there twice", n)
	}
}

func TestBillIsTheSameAgain(t *testing.T) {
	parts := []part{
		{purl: "pkg:npm/%40b/c@2.0.0", group: "@b", name: "c", version: "2.0.0", sha512: strings.Repeat("ab", 64), licence: "(MIT OR CC0-1.0)"},
		{purl: "pkg:golang/x@v1.0.0", name: "x", version: "v1.0.0", goSum: "h1:sum", licence: "MIT"},
	}
	first, err := sbom(testProduct(), parts)
	if err != nil {
		t.Fatal(err)
	}
	second, err := sbom(testProduct(), parts)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("two bills of the same differ")
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(first), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if got := *bom.Components; len(got) != 2 || got[0].PackageURL != parts[0].purl || got[0].Group != "@b" || (*got[1].Licenses)[0].License.ID != "MIT" {
		t.Errorf("got %+v", got)
	}
	other, err := sbom(testProduct(), parts[:1])
	if err != nil {
		t.Fatal(err)
	}
	var otherBOM cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(other), cdx.BOMFileFormatJSON).Decode(&otherBOM); err != nil {
		t.Fatal(err)
	}
	if otherBOM.SerialNumber == bom.SerialNumber {
		t.Error("two bills have one serial number")
	}
}

func TestALicenceThatOnlyItsTextNames(t *testing.T) {
	dir := checkout(t)
	apache, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	entry := locked{Version: "1.0.0", Integrity: "sha512-AQID"}
	if p, err := npmPart(dir, "node_modules/a", entry); err == nil {
		t.Errorf("of terms that nobody knows it took %q", p.licence)
	}
	if err := os.WriteFile(filepath.Join(dir, "node_modules/a/LICENSE"), apache, 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := npmPart(dir, "node_modules/a", entry); err != nil || p.licence != "Apache-2.0" {
		t.Errorf("got %q, %v", p.licence, err)
	}
}

package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// locked is what package-lock.json says about an installed package.
type locked struct {
	Name      string // where it is installed under another
	Version   string
	Integrity string
	License   string
}

// modules is the folder that packages are in.
const modules = "node_modules/"

// inPackage finds the folder of a package in the path of one of its modules: the last node_modules/ and what follows.
var inPackage = regexp.MustCompile(`^.*?(node_modules/.*)$`)

// npmPackages are the packages whose modules are in the bundles below a folder, as the bundles' source maps tell. What
// Grafana itself brings is not in them.
func npmPackages(root, bundles string) ([]part, error) {
	var lock struct{ Packages map[string]locked }
	content, err := os.ReadFile(filepath.Join(root, "package-lock.json"))
	if err != nil {
		return nil, fmt.Errorf("read versions: %w", err)
	}
	if err := json.Unmarshal(content, &lock); err != nil {
		return nil, fmt.Errorf("read versions from package-lock.json: %w", err)
	}
	folders, err := bundledFolders(bundles)
	if err != nil {
		return nil, err
	}
	var parts []part
	for folder := range folders {
		entry, known := lock.Packages[folder]
		if !known {
			return nil, fmt.Errorf("%s is in the bundles, but not in package-lock.json", folder)
		}
		p, err := npmPart(root, folder, entry)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// bundledFolders are the folders of packages, from node_modules/ on, that source maps below a folder name.
func bundledFolders(bundles string) (map[string]bool, error) {
	folders := map[string]bool{}
	maps := 0
	err := filepath.WalkDir(bundles, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".js.map") {
			return err
		}
		maps++
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var m struct{ Sources []string }
		if err := json.Unmarshal(content, &m); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, source := range m.Sources {
			if folder := packageFolder(source); folder != "" {
				folders[folder] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read source maps: %w", err)
	}
	if maps == 0 {
		return nil, fmt.Errorf("there are no source maps in %s: build the front end for production", bundles)
	}
	return folders, nil
}

// packageFolder is the folder of the package that a module is of, or empty when it is our own or the bundler's.
func packageFolder(source string) string {
	found := inPackage.FindStringSubmatch(source)
	if found == nil {
		return ""
	}
	before, module := cutLast(found[1])
	parts := strings.Split(module, "/")
	n := 1
	if strings.HasPrefix(module, "@") {
		n = 2
	}
	if len(parts) <= n { // a file that the scaffold makes up, right in node_modules
		return ""
	}
	return before + modules + path.Join(parts[:n]...)
}

// cutLast is what is before and after the last folder of packages, which must be in the path.
func cutLast(path string) (before, after string) {
	i := strings.LastIndex(path, modules)
	return path[:i], path[i+len(modules):]
}

func npmPart(root, folder string, entry locked) (part, error) {
	_, name := cutLast(folder)
	if entry.Name != "" {
		name = entry.Name
	}
	sum, err := sha512(entry.Integrity)
	if err != nil {
		return part{}, err
	}
	p := part{name: name, version: entry.Version, sha512: sum, licence: entry.License}
	if scope, rest, scoped := strings.Cut(name, "/"); scoped {
		p.group, p.name = scope, rest
		p.purl = "pkg:npm/%40" + strings.TrimPrefix(scope, "@") + "/" + rest + "@" + entry.Version
	} else {
		p.purl = "pkg:npm/" + name + "@" + entry.Version
	}
	if p.texts, err = texts(filepath.Join(root, filepath.FromSlash(folder))); err != nil {
		return part{}, err
	}
	if p.licence == "" { // not every package.json names one, where the licence itself is there
		if p.licence, err = recognise(p.texts); err != nil {
			return part{}, err
		}
	}
	return p, nil
}

// sha512 is the sum in npm's integrity, in hexadecimal.
func sha512(integrity string) (string, error) {
	encoded, found := strings.CutPrefix(integrity, "sha512-")
	if !found {
		return "", fmt.Errorf("package-lock.json has no SHA-512 but %q", integrity)
	}
	sum, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", fmt.Errorf("read the sum %q: %w", integrity, err)
	}
	return hex.EncodeToString(sum), nil
}

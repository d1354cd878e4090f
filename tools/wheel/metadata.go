// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// project is what pyproject.toml says of the package.
type project struct {
	name, description, python, license string
	dependencies, numpy                []string
}

// readProject reads pyproject.toml of a folder: of TOML only what is in there.
func readProject(dir string) (p project, err error) {
	file := filepath.Join(dir, "pyproject.toml")
	content, err := os.ReadFile(file)
	if err != nil {
		return project{}, err
	}
	for key, value := range map[string]*string{"name": &p.name, "description": &p.description, "requires-python": &p.python} {
		m := regexp.MustCompile(`(?m)^` + key + ` = "([^"]+)"$`).FindSubmatch(content)
		if m == nil {
			return project{}, fmt.Errorf("%s: no line %s = \"...\"", file, key)
		}
		*value = string(m[1])
	}
	for key, value := range map[string]*[]string{"dependencies": &p.dependencies, "numpy": &p.numpy} {
		m := regexp.MustCompile(`(?m)^` + key + ` = \[(.*)\]$`).FindSubmatch(content)
		if m == nil {
			return project{}, fmt.Errorf("%s: no line %s = [...]", file, key)
		}
		for _, item := range strings.Split(string(m[1]), ",") {
			*value = append(*value, strings.Trim(item, ` "`))
		}
	}
	m := regexp.MustCompile(`(?m)^license = \{ text = "([^"]+)" \}$`).FindSubmatch(content)
	if m == nil {
		return project{}, fmt.Errorf("%s: no line license = { text = \"...\" }", file)
	}
	p.license = string(m[1])
	return p, nil
}

// metadata returns the file METADATA of a wheel or of an installed package.
//
//   - texts: names of the licences beside it.
func (p project) metadata(version string, texts []string) string {
	var b strings.Builder
	line := func(key, value string) { fmt.Fprintf(&b, "%s: %s\n", key, value) }
	line("Metadata-Version", "2.1")
	line("Name", p.name)
	line("Version", version)
	line("Summary", p.description)
	line("License", p.license)
	for _, text := range texts {
		line("License-File", text)
	}
	line("Requires-Python", p.python)
	for _, d := range p.dependencies {
		line("Requires-Dist", d)
	}
	line("Provides-Extra", "numpy")
	for _, d := range p.numpy {
		line("Requires-Dist", d+`; extra == "numpy"`)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// pythonVersion returns the version of a release in the form of Python (PEP 440). What is before a release comes
// before it there, too: v0.2.0-rc1 is 0.2.0.dev0+rc1.
func pythonVersion(version string) string {
	version, build, _ := strings.Cut(strings.TrimPrefix(version, "v"), "+")
	version, pre, isPre := strings.Cut(version, "-")
	if isPre {
		version += ".dev0"
	}
	local := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(pre+"."+build), "."), ".")
	if local != "" {
		version += "+" + local
	}
	return version
}

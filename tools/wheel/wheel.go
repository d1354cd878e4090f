// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// wheel is one that is to be made.
type wheel struct {
	version, arch, source, lib string
	texts                      []string
	time                       time.Time
}

// libraries are the C library and what it loads. The core with etcd, twice as large, is left to packages.
var libraries = []string{"libtagbus.so.0", "libtagbus-core.so"}

// platforms are processors in the words of Python.
var platforms = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// make returns the name of the wheel and what is in it.
func (w wheel) make() (name string, content []byte, err error) {
	platform, ok := platforms[w.arch]
	if !ok {
		return "", nil, fmt.Errorf("no wheel for processor %q: there is one for amd64 and for arm64", w.arch)
	}
	p, err := readProject(w.source)
	if err != nil {
		return "", nil, err
	}
	files, err := filepath.Glob(filepath.Join(w.source, p.name, "*.py"))
	if err != nil || len(files) == 0 {
		return "", nil, fmt.Errorf("%s: no Python files: %w", filepath.Join(w.source, p.name), err)
	}
	files = append(files, filepath.Join(w.source, p.name, "py.typed"))
	var native, names []string
	for _, library := range libraries {
		native = append(native, filepath.Join(w.lib, library))
	}
	needs, err := glibc(native...)
	if err != nil {
		return "", nil, err
	}
	// PEP 600. The libraries are for any Python: cffi loads them, they are no module of it.
	tag := fmt.Sprintf("py3-none-manylinux_%d_%d_%s", needs.major, needs.minor, platform)

	z := newArchive(w.time)
	for _, file := range append(files, native...) {
		if err := z.addFile(p.name+"/"+filepath.Base(file), file); err != nil {
			return "", nil, err
		}
	}
	info := fmt.Sprintf("%s-%s.dist-info", p.name, w.version)
	for _, text := range w.texts {
		names = append(names, filepath.Base(text))
		if err := z.addFile(info+"/licenses/"+filepath.Base(text), text); err != nil {
			return "", nil, err
		}
	}
	err = z.add(info+"/METADATA", 0o644, []byte(p.metadata(w.version, names)+"\n"))
	if err == nil {
		err = z.add(info+"/WHEEL", 0o644, []byte("Wheel-Version: 1.0\nGenerator: tagbus\nRoot-Is-Purelib: false\nTag: "+tag+"\n"))
	}
	if err == nil {
		content, err = z.close(info + "/RECORD")
	}
	return fmt.Sprintf("%s-%s-%s.whl", p.name, w.version, tag), content, err
}

// archive is a zip file with a list of what is in it.
type archive struct {
	out    bytes.Buffer
	zip    *zip.Writer
	time   time.Time
	record strings.Builder
}

func newArchive(t time.Time) *archive {
	a := &archive{time: t}
	a.zip = zip.NewWriter(&a.out)
	return a
}

// addFile adds a file of the disk. A library can be executed, as linkers leave it.
func (a *archive) addFile(name, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if strings.Contains(filepath.Base(name), ".so") {
		mode = 0o755
	}
	return a.add(name, mode, content)
}

func (a *archive) add(name string, mode os.FileMode, content []byte) error {
	sum := sha256.Sum256(content)
	fmt.Fprintf(&a.record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
	return a.write(name, mode, content)
}

func (a *archive) write(name string, mode os.FileMode, content []byte) error {
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: a.time}
	header.SetMode(mode)
	f, err := a.zip.CreateHeader(header)
	if err == nil {
		_, err = f.Write(content)
	}
	return err
}

// close adds the list, in which it has no sum, and returns the zip file.
func (a *archive) close(list string) ([]byte, error) {
	if err := a.write(list, 0o644, []byte(a.record.String()+list+",,\n")); err != nil {
		return nil, err
	}
	err := a.zip.Close()
	return a.out.Bytes(), err
}

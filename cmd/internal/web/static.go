// SPDX-License-Identifier: Apache-2.0

package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed static
var static embed.FS

// types are the media types of the files that are served, by the end of their names. The
// types of the host do not matter.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// file is one static file.
type file struct {
	data        []byte
	contentType string
	etag        string
}

// files are the static files by the path at which they are served.
var files = readFiles()

func readFiles() map[string]file {
	all := make(map[string]file)
	err := fs.WalkDir(static, "static", func(name string, entry fs.DirEntry, err error) error {
		contentType, known := types[path.Ext(name)]
		if err != nil || entry.IsDir() || !known {
			return err
		}
		data, err := static.ReadFile(name)
		if err != nil {
			return err
		}
		at := "/" + name
		if name == "static/index.html" {
			at = "/"
		}
		sum := sha256.Sum256(data)
		all[at] = file{data: data, contentType: contentType, etag: `"` + hex.EncodeToString(sum[:8]) + `"`}
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("web: reading the files of the program: %v", err)) // they are in it
	}
	return all
}

// serveFile serves a static file, and no other.
func serveFile(w http.ResponseWriter, r *http.Request) {
	f, ok := files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("Cache-Control", "no-cache") // asked for again, and answered with 304 while the program is the same
	header.Set("ETag", f.etag)
	for known := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if strings.TrimSpace(known) == f.etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	header.Set("Content-Type", f.contentType)
	header.Set("Content-Length", fmt.Sprint(len(f.data)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(f.data)
	}
}

// SPDX-License-Identifier: Apache-2.0

// Package python_test runs the tests of the Python package, against the programs of this tree.
package python_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/clib"
	"tagbus/internal/testkit/pki"
)

// interpreter is that of Debian, whose packages scripts/setup.sh installs.
const interpreter = "/usr/bin/python3"

// TestPython runs pytest.
func TestPython(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc (Debian: gcc libc6-dev)")
	}
	if err := exec.Command(interpreter, "-c", "import cffi, numpy, pytest").Run(); err != nil {
		t.Skip("needs Python with cffi, numpy and pytest (Debian: python3-cffi python3-numpy python3-pytest)")
	}
	if _, err := exec.LookPath("mypy"); err != nil && testkit.All() { // what pytest skips shows in its log only
		t.Run("types", func(t *testing.T) { t.Skip("needs mypy (Debian: mypy)") })
	}
	testkit.DependsOnTree()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// Where those that are there, of the same sources, are not linked again.
	bin := filepath.Join(root, "bin", "python")
	run(t, root, []string{"CGO_ENABLED=0"}, "go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", bin+"/", "./cmd/publisher", "./cmd/subscriber", "./cmd/tagbus")
	lib := clib.Build(t)
	run(t, filepath.Join(root, "bindings/python"), []string{
		"TAGBUS_BIN=" + bin, "TAGBUS_LIB=" + lib, "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1", "TAGBUS_TEST_CERTS=" + certificates(t),
	}, interpreter, "-X", "dev", "-m", "pytest", "-q", "-rs", "--basetemp", filepath.Join(t.TempDir(), "pytest"))
}

// certificates writes certificates of some names for test_tls.py, of which stranger is of another CA.
func certificates(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	site, other := pki.NewCA(t, "site"), pki.NewCA(t, "other")
	pki.Write(t, dir, "ca.pem", pki.PEM(site))
	for _, name := range []string{"writer", "reader", "guest", "stranger"} {
		authority := site
		if name == "stranger" {
			authority = other
		}
		issued := authority.Issue(t, "cn:"+name)
		pki.Write(t, dir, name+".pem", pki.PEM(issued))
		pki.Write(t, dir, name+".key", issued.KeyPEM(t))
	}
	return dir
}

// run runs a command, and logs what it says.
func run(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
}

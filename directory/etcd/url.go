// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"

	"tagbus/bus/directory"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
)

// The schemes of URLs.
const (
	scheme    = "etcd"
	tlsScheme = "etcds"
)

// defaultPort is where etcd serves its clients.
const defaultPort = "2379"

// maxPasswordBytes bounds what is read of a file that should have one line.
const maxPasswordBytes = 4096

func init() {
	directory.Register(scheme, OpenURL)
	directory.Register(tlsScheme, OpenURL)
}

// OpenURL opens the directory that a URL names:
//
//		etcd://HOST[:PORT][,HOST[:PORT]...]/NAME[?user=NAME&password-file=FILE]
//		etcds://HOST[:PORT][,HOST[:PORT]...]/NAME[?ca=FILE&cert=FILE&key=FILE&user=NAME&password-file=FILE]
//
//	  - HOST: a name or an address, one of IPv6 in brackets, with %25 in front of a zone. PORT:
//	    default 2379.
//	  - NAME: of the bus: 1 to 64 letters, digits, - and _. All keys begin with /tagbus/NAME/.
//	  - ca: PEM file with the certificates that those of the servers must come from; without
//	    it, those that the system trusts. cert, key: PEM files with what the servers know this
//	    program by, read again for each connection.
//	  - password-file: its first line is the password. A URL has none, as others can read it.
//	  - Errors: directory.ErrInvalidURL, wrapped, and what is wrong with a file; ErrConfig.
//	  - Blocks: for the files, not for the servers.
func OpenURL(url string, s directory.Settings) (directory.Opened, error) {
	config, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	config.Expiry, config.Logger = s.Expiry, s.Logger
	d, err := Open(config)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// ParseURL returns the Config of a URL as OpenURL takes it, with its files read.
//
//   - Errors: directory.ErrInvalidURL, wrapped, and what is wrong with a file.
//   - Blocks: for the files.
func ParseURL(text string) (Config, error) {
	hosts, name, query, err := split(text)
	if err != nil {
		return Config{}, err
	}
	c := Config{Prefix: "/tagbus/" + name + "/"}
	for host := range strings.SplitSeq(hosts, ",") {
		endpoint, err := endpointOf(host)
		if err != nil {
			return Config{}, err
		}
		c.Endpoints = append(c.Endpoints, endpoint)
	}
	values, err := options(query)
	if err != nil {
		return Config{}, err
	}
	if directory.Scheme(text) == tlsScheme {
		if c.TLS, err = tlsOf(values); err != nil {
			return Config{}, err
		}
	} else if values["ca"]+values["cert"]+values["key"] != "" {
		return Config{}, invalid("ca, cert and key need TLS: write etcds:// instead of etcd://")
	}
	if c.User = values["user"]; (c.User == "") != (values["password-file"] == "") {
		return Config{}, invalid("user and password-file must be given both or none")
	}
	if file := values["password-file"]; file != "" {
		if c.Password, err = passwordOf(file); err != nil {
			return Config{}, err
		}
	}
	return c, nil
}

// split cuts a URL into what stands between its delimiters. No error shows what may be
// a password.
func split(text string) (hosts, name, query string, err error) {
	s := directory.Scheme(text)
	if s != scheme && s != tlsScheme {
		return "", "", "", invalid("want etcd://HOST,HOST/NAME or etcds://HOST,HOST/NAME")
	}
	rest := text[len(s)+len("://"):]
	if rest, _, found := strings.Cut(rest, "#"); found {
		return "", "", "", invalid("%s has a fragment, behind #: it means nothing here", strconv.Quote(hideUser(rest)))
	}
	rest, query, _ = strings.Cut(rest, "?")
	hosts, name, _ = strings.Cut(rest, "/")
	if strings.Contains(hosts, "@") {
		return "", "", "", invalid("a user stands in front of the hosts, where others can read a password: write ?user=NAME&password-file=FILE behind the name")
	}
	if name = strings.TrimSuffix(name, "/"); !directory.ValidInstance(name) {
		return "", "", "", invalid("the name of the bus is %s, must be 1 to 64 letters, digits, - and _, as in etcd://HOST,HOST/NAME", strconv.Quote(sanitize.Cut(name, 80)))
	}
	return hosts, name, query, nil
}

// hideUser returns s without what stands in front of the last @.
func hideUser(s string) string { return s[strings.LastIndexByte(s, '@')+1:] }

// endpointOf returns host with a port.
func endpointOf(host string) (string, error) {
	endpoint := strings.ReplaceAll(host, "%25", "%") // RFC 6874: [fe80::1%25eth0]
	if i := strings.LastIndexByte(host, ':'); i < 0 || strings.HasSuffix(host, "]") {
		endpoint += ":" + defaultPort
	}
	if h, port, err := net.SplitHostPort(endpoint); err == nil {
		endpoint = net.JoinHostPort(h, port)
	}
	if !validEndpoint(endpoint) {
		return "", invalid("%s is no host: want HOST, HOST:PORT or [IPV6]:PORT, several with commas between", strconv.Quote(sanitize.Cut(host, 80)))
	}
	return endpoint, nil
}

// options returns what stands behind the question mark.
func options(query string) (map[string]string, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, invalid("what follows the question mark cannot be read: want name=value, with & between")
	}
	result := make(map[string]string)
	for name, value := range values {
		switch name {
		case "ca", "cert", "key", "user", "password-file":
		case "password":
			return nil, invalid("a password stands in the URL, where others can read it: write it to a file, and password-file=FILE")
		default:
			return nil, invalid("%s is no option: want ca, cert, key, user and password-file", strconv.Quote(sanitize.Cut(name, 80)))
		}
		if len(value) != 1 || value[0] == "" {
			return nil, invalid("%s must be given once, with a value", name)
		}
		result[name] = value[0]
	}
	return result, nil
}

// tlsOf reads the certificates.
func tlsOf(values map[string]string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := values["ca"]; file != "" {
		pem, err := stuck.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%w: ca: %w", ErrConfig, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: ca: %s has no certificate in PEM form", ErrConfig, sanitize.Text(file))
		}
	}
	cert, key := values["cert"], values["key"]
	switch {
	case cert == "" && key == "":
		return config, nil
	case cert == "" || key == "":
		return nil, invalid("cert and key must be given both or none")
	}
	var err error
	if config.GetClientCertificate, err = stuck.ClientCertificate(cert, key); err != nil {
		return nil, fmt.Errorf("%w: cert %s and key %s: %w", ErrConfig, sanitize.Text(cert), sanitize.Text(key), err)
	}
	return config, nil
}

// passwordOf reads the first line of a file.
func passwordOf(file string) (string, error) {
	f, err := stuck.Open(file)
	if err != nil {
		return "", fmt.Errorf("%w: password-file: %w", ErrConfig, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxPasswordBytes))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("%w: password-file: %w", ErrConfig, err)
	}
	password, _, _ := strings.Cut(string(text), "\n")
	if password = strings.TrimSuffix(password, "\r"); password == "" {
		return "", fmt.Errorf("%w: password-file: the first line of %s is empty", ErrConfig, sanitize.Text(file))
	}
	return password, nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{directory.ErrInvalidURL}, args...)...)
}

// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"

	"tagbus/internal/validate"
)

// Defaults and limits of the configurations.
const (
	defaultBlockBytes    = 1 << 20
	minBlockBytes        = 256
	mostBlockBytes       = 64 << 20
	defaultMaxBlockBytes = 128 << 20
	mostMaxBlockBytes    = 1<<31 - 1
	defaultMaxExpansion  = 4096
	mostMaxExpansion     = 1 << 30
	workPerRecord        = 16      // as that of so many bytes
	freeWork             = 1 << 30 // of any file
)

// Config says how recordings are written. The zero value is good.
type Config struct {
	// BlockBytes is when a block is full: its records take at least so many bytes, before
	// compression. A block that a killed recorder was filling is lost. Default 1 MiB; 256
	// bytes to 64 MiB. A larger message makes a larger block.
	BlockBytes int

	// Codec is how blocks are compressed. One that does not become smaller is stored as
	// it is. Default None.
	Codec Codec

	// OnBlock is called by a Writer or BlockWriter after each block, with what is written
	// by then: the place to call fsync, or to begin the next part by Rotate. An error
	// ends the recording: the method that wrote the block returns it, and so do all after
	// it. Default: nothing.
	OnBlock func(Written) error
}

// Written says how much is in the current part.
type Written struct {
	Bytes    int64  // of the file so far, without index and footer
	Blocks   int    // in this part
	Messages uint64 // in this part
}

func (c Config) withDefaults() Config {
	validate.Default(&c.BlockBytes, defaultBlockBytes)
	if c.OnBlock == nil {
		c.OnBlock = func(Written) error { return nil }
	}
	return c
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig and names the
// field, its value and its limit.
func (c Config) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	validate.Within(&v, "BlockBytes", c.BlockBytes, minBlockBytes, mostBlockBytes)
	validate.Within(&v, "Codec", int(c.Codec), int(None), int(codecs)-1)
	return v.Err()
}

// ReaderConfig says how recordings are read. The zero value is good.
type ReaderConfig struct {
	// Name is what errors call the file. Open sets it to the path unless it is set.
	Name string

	// BeingWritten says that a recorder has the file open: it is Info.BeingWritten unless the
	// file has its index. Open finds out by itself.
	BeingWritten bool

	// Context ends reading: once it has ended each read fails with its cause, as one of a file that
	// cannot be read. An iteration then has a DamageError for each block that is left, so the loop looks
	// at Context before it takes one for damage. Default: nothing ends it.
	Context context.Context

	// MaxBlockBytes limits the memory for a file that is hostile or damaged: the bytes
	// of a block before compression, and those of its table. A larger block is an
	// ErrTooLarge. Default 128 MiB; 256 bytes to 2 GiB less a byte.
	MaxBlockBytes int

	// MaxExpansion limits the time for a file that is hostile: beyond the first GiB an
	// iteration decompresses each byte of blocks to at most so many; a record counts as 16
	// of them. A block beyond is an ErrExpanded. What this package writes stays within the
	// default. Default 4096; 1 to 2^30.
	MaxExpansion int
}

func (c ReaderConfig) withDefaults() ReaderConfig {
	if c.Context == nil {
		c.Context = context.Background()
	}
	validate.Default(&c.MaxBlockBytes, defaultMaxBlockBytes)
	validate.Default(&c.MaxExpansion, defaultMaxExpansion)
	return c
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig and names the
// field, its value and its limit.
func (c ReaderConfig) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	validate.Within(&v, "MaxBlockBytes", c.MaxBlockBytes, minBlockBytes, mostMaxBlockBytes)
	validate.Within(&v, "MaxExpansion", c.MaxExpansion, 1, mostMaxExpansion)
	return v.Err()
}

// SPDX-License-Identifier: Apache-2.0

package tags_test

import (
	"errors"
	"fmt"

	"tagbus/tags"
)

func ExampleParse() {
	for _, text := range []string{"1152922810278051840", "0x1000013000118000", "1/0/19/0/0/17/toDetector/0/0"} {
		tag, err := tags.Parse(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(tag, tag.Slashed(), "connector", tag.Connector(), "e-link", tag.ELink(), tag.Direction())
	}
	_, err := tags.Parse("1/0/19/0/0/64/1/0/0")
	fmt.Println(err)
	// Output:
	// 0x1000013000118000 1/0/19/0/0/17/1/0/0 connector 19 e-link 17 toDetector
	// 0x1000013000118000 1/0/19/0/0/17/1/0/0 connector 19 e-link 17 toDetector
	// 0x1000013000118000 1/0/19/0/0/17/1/0/0 connector 19 e-link 17 toDetector
	// tags: parse "1/0/19/0/0/64/1/0/0" at byte 11: elink 64 is above its limit 63
}

func ExampleFields() {
	tag, err := tags.Fields{Version: tags.FormatVersion, Connector: 19, ELink: 25}.Tag()
	fmt.Println(tag, err)

	reply := tag.Fields()
	reply.Direction = tags.ToDetector
	tag, err = reply.Tag()
	fmt.Println(tag, err)

	_, err = tags.Fields{Link: 8192, Protocol: 128}.Tag()
	var field *tags.FieldError
	fmt.Println(errors.As(err, &field), field.Field, field.Limit)
	// Output:
	// 0x1000013000190000 <nil>
	// 0x1000013000198000 <nil>
	// true link 8191
}

func ExampleSet() {
	readout, err := tags.ParseSet("1/0/19/*/*/*/0/*/*") // all that connector 19 sends to the host
	if err != nil {
		fmt.Println(err)
		return
	}
	commands, err := tags.Range(0x1000013000118000, 0x100001300011800f)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := tags.Union(readout, commands, tags.Of(3, 1, 2))
	fmt.Println(s)
	fmt.Println(s.Contains(0x1000013000190000), s.Contains(0x1000013000198000))
	fmt.Println(s.Intersects(tags.Of(0x1000013000118007)))
	for tag := range s.All() {
		if tag > 3 {
			break
		}
		fmt.Println(tag)
	}
	// Output:
	// 0x0000000000000001-0x0000000000000003,0x1000013000118000-0x100001300011800f,1/0/19/*/*/*/0/*/*
	// true false
	// true
	// 0x0000000000000001
	// 0x0000000000000002
	// 0x0000000000000003
}

func ExampleSet_Without() {
	connector, err := tags.ParseSet("1/0/19/*/*/*/*/*/*")
	if err != nil {
		fmt.Println(err)
		return
	}
	readout, err := connector.Without(tags.Match(1<<15, 1<<15)) // direction 1
	fmt.Println(readout, err)
	// Output:
	// 1/0/19/*/*/*/0/*/* <nil>
}

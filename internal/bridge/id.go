package bridge

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// ID is an executor id: a positive number, text on the wire.
type ID int64

// MarshalJSON writes the id as text.
func (id ID) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatInt(int64(id), 10)), nil
}

// UnmarshalJSON reads text that is a number.
func (id *ID) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("executor id %q is not a number", text)
	}
	*id = ID(n)
	return nil
}

// Numbers returns the ids as plain numbers.
func Numbers(ids []ID) []int64 {
	out := make([]int64, len(ids))
	for i, id := range ids {
		out[i] = int64(id)
	}
	return out
}

// Texts makes ids of plain numbers.
func Texts(ids []int64) []ID {
	out := make([]ID, len(ids))
	for i, id := range ids {
		out[i] = ID(id)
	}
	return out
}

package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

type listMeta struct {
	ResourceVersion string `json:"resourceVersion"`
	Continue        string `json:"continue"`
}

// decodeList reads a list object token by token, so that one pod at a time is in memory.
func decodeList(body io.Reader, f func(*snapshot.Wire)) (listMeta, error) {
	var meta listMeta
	dec := json.NewDecoder(body)
	if err := expect(dec, json.Delim('{')); err != nil {
		return meta, err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return meta, err
		}
		switch key {
		case "metadata":
			err = dec.Decode(&meta)
		case "items":
			err = decodeItems(dec, f)
		default:
			var skipped json.RawMessage
			err = dec.Decode(&skipped)
		}
		if err != nil {
			return meta, fmt.Errorf("%v: %w", key, err)
		}
	}
	if meta.ResourceVersion == "" {
		return meta, errors.New("it has no resourceVersion")
	}
	return meta, expect(dec, json.Delim('}'))
}

func decodeItems(dec *json.Decoder, f func(*snapshot.Wire)) error {
	token, err := dec.Token()
	if err != nil || token == nil {
		return err // null: no items
	}
	if token != json.Delim('[') {
		return fmt.Errorf("found %v instead of a list", token)
	}
	for dec.More() {
		w := &snapshot.Wire{}
		if err := dec.Decode(w); err != nil {
			return err
		}
		f(w)
	}
	return expect(dec, json.Delim(']'))
}

func expect(dec *json.Decoder, want json.Delim) error {
	token, err := dec.Token()
	if err == nil && token != want {
		err = fmt.Errorf("found %v instead of %v", token, want)
	}
	return err
}

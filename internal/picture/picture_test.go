package picture_test

import (
	"testing"

	"github.com/pemmican-dev/pemmican/internal/picture"
)

func TestSize(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		w, h int
	}{
		"png":                      {"iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAC0lEQVR4nGNgQAcAABIAAYbR5kIAAAAASUVORK5CYII=", 3, 2},
		"gif":                      {"R0lGODlhBQAEAIAAAAAAAP///ywAAAAABQAEAAACBISPqVgAOw==", 5, 4},
		"webp lossy":               {"UklGRhoAAABXRUJQVlA4IA4AAAAwAQCdASoQABgAAAAAAA==", 16, 24},
		"webp":                     {"UklGRhYAAABXRUJQVlA4TAoAAAAvD8AFAAAAAAAAAAAA", 16, 24},
		"webp large":               {"UklGRhYAAABXRUJQVlA4WAoAAAAAAAAADwAAFwAAAAAA", 16, 24},
		"webp of a fourth kind":    {"UklGRhYAAABXRUJQQU5JTQoAAAAvD8AFAAAAAAAAAAAA", 0, 0},
		"webp lossy without a key": {"UklGRhoAAABXRUJQVlA4IA4AAAAwAQCcASoQABgAAAAAAA==", 0, 0},
		"webp without a signature": {"UklGRhYAAABXRUJQVlA4TAoAAAAuD8AFAAAAAAAAAAAA", 0, 0},
		"no image":                 {"aGVsbG8gd29ybGQ=", 0, 0},
		"no base64":                {"***", 0, 0},
		"empty":                    {"", 0, 0},
	} {
		if _, w, h := picture.Size([]byte(c.data)); w != c.w || h != c.h {
			t.Errorf("%s: %dx%d, want %dx%d", name, w, h, c.w, c.h)
		}
	}
}

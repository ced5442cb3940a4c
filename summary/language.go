package summary

import (
	"github.com/pemmican-dev/pemmican"
	lang "github.com/pemmican-dev/pemmican/internal/language"
)

// language returns the English name of the language in which the person writes, "" when that is not sure.
func language(r pemmican.SummaryRequest) string { return lang.Of(r.Transcript) }

const eastern = lang.Eastern

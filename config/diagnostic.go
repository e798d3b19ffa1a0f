package config

import (
	"fmt"

	"github.com/awaken-go/awaken"
)

// problem is a mistake in a document.
func problem(key Key, code, format string, args ...any) awaken.Diagnostic {
	return awaken.Diagnostic{Code: code, Severity: awaken.SeverityError, Namespace: string(key.Namespace), ID: key.ID, Message: fmt.Sprintf(format, args...)}
}

func warning(key Key, code, format string, args ...any) awaken.Diagnostic {
	d := problem(key, code, format, args...)
	d.Severity = awaken.Warning
	return d
}

// refuse returns an error for problems, if there are any.
func refuse(problems []awaken.Diagnostic) error {
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", awaken.ErrInvalid, &awaken.ConfigError{Problems: problems})
}

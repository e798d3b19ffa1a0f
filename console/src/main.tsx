import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, useCallback, useEffect, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import "./ui/tokens.css";
import { ApiError } from "./api/errors";
import { router } from "./app/router";
import { initTheme } from "./app/theme";
import { initialLocale, keepLocale, LanguageProvider, languageOf, wordsOf, type Locale, type Words } from "./i18n/i18n";

initTheme();

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false, // the feed says what has changed
      retry: (count, err) => count < 2 && (!(err instanceof ApiError) || err.temporary),
    },
  },
});

function App({ first, words: firstWords }: { first: Locale; words: Words }) {
  const [{ locale, words }, setLanguage] = useState({ locale: first, words: firstWords });
  const setLocale = useCallback(async (next: Locale) => {
    const nextWords = await wordsOf(next);
    keepLocale(next);
    setLanguage({ locale: next, words: nextWords });
  }, []);
  useEffect(() => {
    document.documentElement.lang = locale;
  }, [locale]);
  const language = useMemo(() => languageOf(locale, words, (l) => void setLocale(l)), [locale, words, setLocale]);
  return (
    <CSPProvider disableStyleElements>
      <LanguageProvider value={language}>
        <QueryClientProvider client={client}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </LanguageProvider>
    </CSPProvider>
  );
}

const locale = initialLocale();
document.documentElement.lang = locale;
void wordsOf(locale).then((words) =>
  createRoot(document.getElementById("root")!).render(
    <StrictMode>
      <App first={locale} words={words} />
    </StrictMode>,
  ),
);

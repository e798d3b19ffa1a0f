import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { KeyRound } from "lucide-react";
import { useEffect, useState } from "react";
import { ApiError } from "../api/errors";
import { signIn, useSession } from "../api/session";
import { useLanguage } from "../i18n/i18n";
import { Button } from "../ui/button";

/** SignIn takes a key, which the server exchanges for a cookie that no script can read. */
export function SignIn() {
  const { t } = useLanguage();
  const session = useSession();
  const client = useQueryClient();
  const navigate = useNavigate();
  const { next } = useSearch({ from: "/sign-in" });
  const [key, setKey] = useState("");
  const submit = useMutation({
    mutationFn: () => signIn(client, key.trim()),
    onSuccess: async () => {
      setKey("");
      await navigate({ href: next?.startsWith("/") && !next.startsWith("//") ? next : "/" });
    },
  });
  useEffect(() => {
    document.title = `${t("session.signIn")} · Awaken`;
  }, [t]);
  const err = submit.error;
  const words = err instanceof ApiError && err.status === 401 ? t("session.wrongKey") : (err?.message ?? "");
  return (
    <div className="mx-auto max-w-md px-4 py-12">
      <form
        className="panel flex flex-col gap-4 p-6"
        onSubmit={(e) => {
          e.preventDefault();
          if (key.trim()) submit.mutate();
        }}
      >
        <h1 className="flex items-center gap-2 text-page font-semibold">
          <KeyRound aria-hidden className="size-5 text-muted" />
          {t("session.signIn")}
        </h1>
        <p className="text-muted">{session?.open ? t("session.openHint") : t("session.closedHint")}</p>
        <label className="flex flex-col gap-1 font-medium">
          {t("session.key")}
          <input
            className="field mono w-full font-normal"
            type="password"
            autoComplete="current-password"
            autoFocus
            value={key}
            onChange={(e) => setKey(e.target.value)}
            aria-invalid={submit.isError}
            aria-describedby={submit.isError ? "sign-in-error" : undefined}
          />
        </label>
        {submit.isError && (
          <p id="sign-in-error" role="alert" className="text-fail [overflow-wrap:anywhere]">
            {words}
          </p>
        )}
        <Button kind="primary" type="submit" disabled={submit.isPending}>
          {submit.isPending ? t("session.signingIn") : t("session.signIn")}
        </Button>
        <p className="text-dense text-muted">{t("session.keptHint")}</p>
      </form>
    </div>
  );
}

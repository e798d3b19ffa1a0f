import type { ButtonHTMLAttributes } from "react";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: "plain" | "primary" | "danger" | "quiet";
  /** Why the button cannot be used. It is then disabled and says so. */
  why?: string;
}

const kinds = {
  plain: "border border-border bg-panel hover:bg-sunken",
  primary: "border border-accent bg-accent text-on-accent hover:opacity-90",
  danger: "border border-fail bg-panel text-fail hover:bg-sunken",
  quiet: "border border-transparent hover:bg-sunken",
};

/** Button is a button. One that cannot be used stays focusable, so that its reason can be read. */
export function Button({ kind = "plain", why, className = "", onClick, type = "button", disabled, title, ...rest }: Props) {
  return (
    <button
      type={type}
      aria-disabled={why ? true : undefined}
      title={why ?? title}
      disabled={disabled}
      onClick={why ? (e) => e.preventDefault() : onClick}
      className={`touch inline-flex min-h-8 items-center justify-center gap-1.5 rounded-md px-3 text-body font-medium whitespace-nowrap disabled:opacity-60 ${why ? "cursor-not-allowed opacity-60" : ""} ${kinds[kind]} ${className}`}
      {...rest}
    />
  );
}

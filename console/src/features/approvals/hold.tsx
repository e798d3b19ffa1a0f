import { useRef, useState, type ReactNode } from "react";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";

const HOLD = 600;

/** HoldButton confirms. On touch, what has an effect is confirmed by holding it; a mouse click and the keyboard's Enter are deliberate enough. */
export function HoldButton({ kind = "primary", hold, why, disabled, onConfirm, className, children }: { kind?: "primary" | "plain"; hold: boolean; why?: string; disabled: boolean; onConfirm: () => void; className?: string; children: ReactNode }) {
  const { t } = useLanguage();
  const timer = useRef(0);
  const touched = useRef(false);
  const [holding, setHolding] = useState(false);
  const end = () => {
    window.clearTimeout(timer.current);
    setHolding(false);
  };
  return (
    <Button
      kind={kind}
      why={why}
      disabled={disabled}
      className={`relative select-none ${className ?? ""}`}
      title={hold ? t("approvals.holdHint") : undefined}
      onPointerDown={(e) => {
        touched.current = hold && e.pointerType === "touch" && !why;
        if (!touched.current) return;
        setHolding(true);
        timer.current = window.setTimeout(() => {
          setHolding(false);
          onConfirm();
        }, HOLD);
      }}
      onPointerUp={end}
      onPointerLeave={end}
      onPointerCancel={end}
      onContextMenu={(e) => touched.current && e.preventDefault()}
      onClick={() => {
        if (!touched.current) onConfirm();
        touched.current = false;
      }}
    >
      {holding ? t("approvals.holding") : children}
    </Button>
  );
}

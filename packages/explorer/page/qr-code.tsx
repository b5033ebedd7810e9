import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { loadScript } from './load-script.ts';
import type * as qrScript from './qr.ts';

/** A text as a QR code, dark on light whatever the colours of the page are: not every camera reads the other way round. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }): JSX.Element | null {
  const [qr, setQr] = useState<typeof qrScript>();
  useEffect(() => {
    void loadScript<typeof qrScript>('qr').then(setQr);
  }, []);
  if (qr === undefined) return null;
  const { data, size } = qr.encode(text, { ecc: 'M', border: 4 });
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      width="220"
      height="220"
      shape-rendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}

/** Has the browser save bytes that the page has in its hands. */
export function saveFile(bytes: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(bytes);
  link.download = name;
  link.click();
  // The browser has taken the bytes once this task is over.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

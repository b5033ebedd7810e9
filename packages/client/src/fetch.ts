/** Sends a request, as the platform's `fetch` does. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

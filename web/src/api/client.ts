// Calls of the HTTP API. An answer of 400 or more, and no answer, become an ApiError that the views can show.
import { signal } from '@preact/signals';
import type { ErrorDetail } from './types';
import type { Session } from './contract';

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | undefined,
    readonly field?: string,
    readonly retryable = false,
  ) {
    super(message);
  }
}

/** Undefined until the server has said who we are. */
export const session = signal<Session | undefined>(undefined);

export type Query = URLSearchParams | Record<string, string | number | boolean | undefined>;

export function withQuery(path: string, query?: Query): string {
  if (!query) return path;
  const params = query instanceof URLSearchParams ? query : new URLSearchParams();
  if (!(query instanceof URLSearchParams))
    for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== '') params.set(name, String(value));
  const text = params.toString();
  return text ? `${path}?${text}` : path;
}

export async function errorOf(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-request-id') ?? undefined;
  let detail: Partial<ErrorDetail> = {};
  try {
    detail = ((await response.json()) as { error?: ErrorDetail }).error ?? {};
  } catch {
    // A proxy between us and the server answers with a page of its own.
  }
  const message = detail.message ?? `The server answered ${response.status} ${response.statusText}.`;
  return new ApiError(response.status, detail.code ?? 'internal', message, requestId, detail.field, detail.retryable ?? response.status >= 500);
}

async function send(method: string, path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { method, credentials: 'same-origin', cache: 'no-store', ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'unreachable', 'The server cannot be reached.', undefined, undefined, true);
  }
  if (response.ok) return response;
  const problem = await errorOf(response);
  // The key was revoked or has expired, or the session is over: back to the login page, which keeps the address.
  if (response.status === 401 && path !== '/v1/session' && session.value?.signed_in) session.value = { ...session.value, signed_in: false };
  throw problem;
}

export async function get<T>(path: string, query?: Query, abort?: AbortSignal): Promise<T> {
  const response = await send('GET', withQuery(path, query), { signal: abort, headers: { Accept: 'application/json' } });
  return (await response.json()) as T;
}

/** The same, and the text of the answer: JSON numbers of many digits are exact only there. */
export async function getWithText<T>(path: string, query?: Query, abort?: AbortSignal): Promise<{ value: T; text: string }> {
  const response = await send('GET', withQuery(path, query), { signal: abort, headers: { Accept: 'application/json' } });
  const text = await response.text();
  return { value: JSON.parse(text) as T, text };
}

export interface Bytes {
  data: Uint8Array;
  encoding: string;
}

/** The bytes of a payload or a result as they were sent, with their label. */
export async function getBytes(path: string, abort?: AbortSignal): Promise<Bytes> {
  const response = await send('GET', path, { signal: abort, headers: { Accept: 'application/octet-stream' } });
  return { data: new Uint8Array(await response.arrayBuffer()), encoding: response.headers.get('flowfabric-encoding') ?? '' };
}

export async function call<T>(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown, abort?: AbortSignal): Promise<T> {
  const response = await send(method, path, {
    signal: abort,
    headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return (await response.json()) as T;
}

export const flowPath = (id: string): string => `/v1/flows/${encodeURIComponent(id)}`;
export const executionPath = (id: string): string => `/v1/executions/${encodeURIComponent(id)}`;

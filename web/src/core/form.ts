// What a form holds, as texts, and a field of it that cannot be sent.

export type FormValues = Record<string, string>;

/** `field` is the name that the server has for it. */
export class Refusal extends Error {
  constructor(readonly field: string, message: string) {
    super(`${field}: ${message}`);
  }
}

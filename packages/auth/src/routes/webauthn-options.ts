import { Type } from 'typebox';

/** The options of WebAuthn, which a page passes to the browser unchanged. */
export const CREATION_OPTIONS = optionsFor('create', 'Creation');
export const REQUEST_OPTIONS = optionsFor('get', 'Request');

function optionsFor(method: string, word: string) {
  const description = `For \`PublicKeyCredential.parse${word}OptionsFromJSON()\`, and then \`navigator.credentials.${method}()\``;
  const title = `PublicKeyCredential${word}OptionsJSON`;
  return Type.Object({ challenge: Type.String() }, { title, description, additionalProperties: true });
}

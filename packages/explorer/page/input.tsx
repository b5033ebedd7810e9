import type { JSX } from 'preact';
import type { InputProps } from './form-facts.ts';
import { ChoiceInput, DateTimeInput, FileInput, JsonInput, NumberInput, TextInput } from './inputs.tsx';
import { ReferenceInput } from './reference-input.tsx';

/** The control for a value, after its schema. */
export function Input(props: InputProps): JSX.Element {
  switch (props.described.kind) {
    case 'boolean':
    case 'choice':
      return <ChoiceInput {...props} />;
    case 'integer':
    case 'number':
      return <NumberInput {...props} />;
    case 'date-time':
      return <DateTimeInput {...props} />;
    case 'reference':
      return <ReferenceInput {...props} />;
    case 'file':
      return <FileInput {...props} />;
    case 'text':
    case 'long text':
    case 'password':
    case 'date':
      return <TextInput {...props} />;
    case 'list':
    case 'object':
    case 'stored file':
    case 'json':
      return <JsonInput {...props} />;
  }
}

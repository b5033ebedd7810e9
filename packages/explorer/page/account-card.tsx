import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Refusal, sentenceOf } from './exchanges.ts';

interface AccountCardProps {
  readonly title: ComponentChildren;
  /** What a pointer on the title tells. */
  readonly hint?: string;
  /** The facts below the title. */
  readonly children: ComponentChildren;
  /** The button, which gets what is to be called with the work of a click: a refusal of it is told on the card. */
  readonly action: (run: (work: () => Promise<void>) => Promise<void>) => ComponentChildren;
}

/** A thing of the account, such as a session or a key, that can be ended. */
export function AccountCard({ title, hint, children, action }: AccountCardProps): JSX.Element {
  const [fault, setFault] = useState('');
  const run = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setFault(sentenceOf(error));
    }
  };
  return (
    <li class="card">
      <div>
        <p class="card-title" title={hint}>
          {title}
        </p>
        {children}
        {fault !== '' && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
      </div>
      {action(run)}
    </li>
  );
}

import type { MikroORM } from '@mikro-orm/core';
import { PasswordHasher } from '@viewset/auth';
import { Account, Comment, Label, Member, Project, type PROJECT_ROLES, Role, Step, Ticket } from './entities.ts';
import { BACKLOGS, COMMENTS, LABELS, STEPS } from './texts.ts';

/** Of every account that is seeded. */
export const PASSWORD = 'tracker-password';
const DAY_MS = 86_400_000;

type ProjectRole = (typeof PROJECT_ROLES)[number];

interface Person {
  readonly name: string;
  readonly email: string;
  readonly about: string;
  readonly projects: Readonly<Record<string, ProjectRole>>;
}

export const PEOPLE = [
  {
    name: 'Ada Moreau',
    email: 'ada@example.com',
    about: 'administrator; owns lighthouse, writes in harbour',
    projects: { lighthouse: 'owner', harbour: 'member' },
  },
  {
    name: 'Ben Okafor',
    email: 'ben@example.com',
    about: 'owns harbour, writes in lighthouse',
    projects: { lighthouse: 'member', harbour: 'owner' },
  },
  {
    name: 'Chiara Lind',
    email: 'chiara@example.com',
    about: 'owns compass, looks at lighthouse as a guest',
    projects: { lighthouse: 'guest', compass: 'owner' },
  },
  {
    name: 'Dov Kim',
    email: 'dov@example.com',
    about: 'writes in compass, and sees nothing else',
    projects: { compass: 'member' },
  },
] as const satisfies readonly Person[];

/** Gives an empty database its tables, four people and three projects with their tickets. One in use stays as it is. */
export async function seed(orm: MikroORM, { bcryptRounds = 12, now = new Date() } = {}): Promise<void> {
  await orm.schema.update({ safe: true });
  if ((await orm.em.fork().count(Role)) > 0) return;
  const password = await new PasswordHasher({ rounds: bcryptRounds }).hash(PASSWORD);
  await orm.em.fork().transactional((em) => {
    const [admin, user] = ['admin', 'user'].map((name) => em.create(Role, { name }));
    const labels = LABELS.map(([name, color]) => em.create(Label, { name, color }));
    const accounts = PEOPLE.map(({ name, email }, index) =>
      em.create(Account, { name, email, password, role: index === 0 ? admin : user }),
    );
    for (const { key, name, description, tickets } of BACKLOGS) {
      const project = em.create(Project, { key, name, description });
      const team = PEOPLE.flatMap(({ projects }, index) => {
        const role = (projects as Person['projects'])[key];
        return role === undefined ? [] : [{ account: accounts[index]!, role }];
      });
      for (const member of team) em.create(Member, { project, ...member });
      const writers = team.filter(({ role }) => role !== 'guest').map(({ account }) => account);
      for (const [index, title] of tickets.entries()) {
        addTicket(project, title, index, writers);
      }
    }

    function addTicket(project: Project, title: string, index: number, writers: readonly Account[]): void {
      const [author, colleague] = [writers[index % writers.length]!, writers[(index + 1) % writers.length]!];
      const startsOn = index % 3 === 0 ? null : day(now, (index % 11) - 14);
      const ticket = em.create(Ticket, {
        project,
        title,
        description: `${title}. Seen by ${colleague.name.split(' ')[0]!} last week.`,
        status: (['open', 'doing', 'open', 'done'] as const)[index % 4]!,
        priority: 1 + ((index * 7) % 5),
        starts_on: startsOn,
        due_on: index % 4 === 2 ? null : day(now, (index % 17) - 2),
        minutes_spent: (index % 4) * 45,
        author,
        assignee: index % 5 === 0 ? null : colleague,
        created_at: new Date(now.getTime() - (60 - index) * DAY_MS),
      });
      ticket.labels.add(
        labels[index % labels.length]!,
        ...(index % 3 === 0 ? [labels[(index + 2) % labels.length]!] : []),
      );
      for (let count = 0; count < index % 4; count++) {
        const text = COMMENTS[(index * 3 + count) % COMMENTS.length]!;
        const created_at = new Date(now.getTime() - (30 - index - count) * (DAY_MS / 7));
        em.create(Comment, { ticket, author: count % 2 === 0 ? colleague : author, text, created_at });
      }
      if (index % 6 !== 0) return;
      for (const [step, text] of STEPS.entries()) em.create(Step, { ticket, text, is_done: step < (index / 6) % 4 });
    }
  });
}

/** A day so many days from now, as the date columns hold it. */
function day(now: Date, days: number): string {
  return new Date(now.getTime() + days * DAY_MS).toISOString().slice(0, 10);
}

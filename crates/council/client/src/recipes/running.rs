//! A recipe that runs over a client: in a thread of its own, or in the caller's.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use council_client_core::recipes::{Ask, Input, Recipe};

use crate::Client;
use crate::event::{Heard, Watcher};

/// A recipe that runs over a client, in a thread of its own: one of this crate, or a caller's own. When it is dropped the recipe
/// is released, which the thread sees to.
pub struct Running<R> {
    shared: Arc<Shared<R>>,
    sender: Sender<Heard>,
}

/// How long [`Running::wait_and_act`] may miss a change that comes between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// What the thread and the handle have in common.
struct Shared<R> {
    recipe: Mutex<R>,
    /// The recipe has taken an input.
    changed: Condvar,
}

impl<R> Shared<R> {
    /// A poisoned lock means that the recipe's thread has panicked: what it knew last can still be read.
    fn lock(&self) -> MutexGuard<'_, R> {
        self.recipe.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Recipe + Send + 'static> Running<R> {
    /// Starts a recipe. `after` looks at it after each input, in the recipe's thread.
    ///
    /// # Errors
    /// When this host has no thread left.
    pub fn start(
        client: &Client,
        recipe: R,
        mut after: impl FnMut(&mut R) + Send + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared { recipe: Mutex::new(recipe), changed: Condvar::new() });
        let (sender, receiver) = mpsc::channel();
        let running = Self { shared: Arc::clone(&shared), sender: sender.clone() };
        let client = client.clone();
        std::thread::Builder::new().name(String::from("recipe")).spawn(move || {
            run(&client, &shared, &sender, &receiver, &mut after);
        })?;
        Ok(running)
    }

    /// Changes the recipe from outside. What it asks for then is asked in its own thread.
    pub fn act<T>(&self, act: impl FnOnce(&mut R) -> T) -> T {
        let result = act(&mut self.shared.lock());
        // A thread that is gone has nothing to ask.
        let _ = self.sender.send(Heard::Changed);
        result
    }

    /// Looks at the recipe.
    pub fn look<T>(&self, at: impl FnOnce(&R) -> T) -> T {
        at(&self.shared.lock())
    }

    /// Waits until `at` finds something in the recipe, but not longer than `time`.
    pub fn wait<T>(&self, time: Duration, mut at: impl FnMut(&R) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + time;
        let mut recipe = self.shared.lock();
        loop {
            if let Some(found) = at(&recipe) {
                return Some(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let waited = self.shared.changed.wait_timeout(recipe, left);
            recipe = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// As [`Self::wait`], but `act` may change the recipe. What it asks for then is asked in its own thread.
    pub fn wait_and_act<T>(&self, time: Duration, mut act: impl FnMut(&mut R) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + time;
        loop {
            if let Some(done) = self.act(&mut act) {
                return Some(done);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let recipe = self.shared.lock();
            drop(self.shared.changed.wait_timeout(recipe, left.min(LOOK)));
        }
    }

    /// Lets the recipe let go of what it holds.
    pub fn release(&self) {
        // A thread that is gone holds nothing any more.
        let _ = self.sender.send(Heard::Stop);
    }
}

impl<R> Drop for Running<R> {
    fn drop(&mut self) {
        let _ = self.sender.send(Heard::Stop);
    }
}

impl<R> std::fmt::Debug for Running<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}

/// Runs a recipe to its end in this thread.
pub(crate) fn run_here<R: Recipe>(client: &Client, recipe: R) -> R {
    let shared = Shared { recipe: Mutex::new(recipe), changed: Condvar::new() };
    let (sender, receiver) = mpsc::channel();
    run(client, &shared, &sender, &receiver, &mut |_| {});
    shared.recipe.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn run<R: Recipe>(
    client: &Client,
    shared: &Shared<R>,
    sender: &Sender<Heard>,
    receiver: &Receiver<Heard>,
    after: &mut dyn FnMut(&mut R),
) {
    let watcher = Watcher::of_recipe(sender.clone());
    let mut input = client.listen_or_end(&watcher).err().map(Input::Over);
    loop {
        let mut recipe = shared.lock();
        if let Some(input) = input {
            recipe.tell(input);
        }
        after(&mut recipe);
        let asks: Vec<Ask> = std::iter::from_fn(|| recipe.next()).collect();
        let is_over = recipe.is_over();
        drop(recipe);
        shared.changed.notify_all();
        for Ask { id, request } in asks {
            let sender = sender.clone();
            client.request_then(&request, Some(&watcher), move |replied| {
                // A recipe that is over waits for nothing.
                let _ = sender.send(Heard::Replied(id, replied));
            });
        }
        if is_over {
            return client.unlisten(&watcher);
        }
        // It cannot fail: this thread itself has a sender.
        let Ok(heard) = receiver.recv() else { return };
        input = match heard {
            Heard::Event(event) => Some(Input::Event(event)),
            Heard::State(change) => Some(Input::of_state(change, client.state().is_over())),
            Heard::Replied(id, replied) => Some(Input::Replied(id, replied)),
            Heard::Changed => None,
            Heard::Stop => Some(Input::Release),
        };
    }
}

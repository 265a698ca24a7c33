/** Sleeps as many seconds as the argument says and makes no Spark context: a driver without executors. */
public final class Sleeper {
  private Sleeper() {}

  public static void main(String[] args) throws Exception {
    Thread.sleep(Long.parseLong(args[0]) * 1000);
    System.out.println("Slept " + args[0] + " seconds");
  }
}
